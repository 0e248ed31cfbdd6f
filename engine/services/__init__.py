"""What a person can do, one module a subject: permission, look-up, work, audit, answer."""
