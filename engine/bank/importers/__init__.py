"""Reading questions from files of other forms."""
