"""How Chinese refusals are worded: a linear model over short runs of characters, and where they stand.

No list of phrases knows all the ways in which Chinese says no without the word. The model weighs what an answer is
made of, as `scripts/refusals/train.py` learned it from answers that were written and labelled for it. It is fixed:
the same text always gets the same scores.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import NamedTuple

WEIGHTS_FILE = Path(__file__).with_name("refusal_wording.json")

EDGE = 30
"""So many characters at the start and at the end count once more, as such. So do the first and the last sentence, the
edges of clauses, and a whole answer that is no longer than this."""

HEAD, TAIL = 420, 180
"""Of a longer answer, whose like the model never met, these are weighed: who refuses does it first or last."""

MARK = 0.1
"""What a mark weighs against the runs of an answer, which together have length 1."""

_SIZES = (10, 20, 40, 60, 90, 130, 200, 300)
_OPENING, _CLOSING = tuple('"“「『'), tuple('"”」』')
_SPACE = re.compile(r"\s+")
_ITEM = re.compile(r"^\s*(?:\d+[.)、]|[-*•])", re.MULTILINE)
_DIGIT, _WORD, _END = re.compile(r"\d"), re.compile("[a-z]{3}"), re.compile(r"[。!?;\n]+")
_CLAUSE = re.compile(r"[^ 。!?;,:~][^。!?;,:~]*(?<! )")


_TRADITIONAL = (
    "無絕協幫詢說話題請違規內關於對這個寫給為與應該沒辦實難換談議歡樂願愛傷險熱線報專業醫師諒見遺謝絡騙觸權範圍條準則編製產擬設計驟僅從會過還將讓現體學習發資訊據責詳細術種樣麼們來後時間開問認識論評價觀點錯誤視嚴處"
    "執輸譯續繼終斷嗎係唔嘅佢咁畀冇啲罵誰藥毀壞貼標籤勸離導連單獨頻網買賣證帳戶號碼樓門閉電腦聲筆畫書陽陰務經濟極屬歷頭盡儘顯誠質轉軟弗識産礙諮撥棄濫眾歲義兒氣親傳試幹鬧壓適顧倫廣區舉誘誹謗槍彈復紀遠邊檢團構療診撫"
    "憂鬱靈聽擔讀講紹勢閒鬥獻煉蕩償賠賭癮殺屍竊盜偽兇讚獲麗舊雙稱確幾釋歸負費購銷隱遲靜順須風飛駛驗髒壽夢慮憤懷戰擇損擾敵斂曉東樹橋橫欄殘滅潔煩爾牽狀瘋皺監禍積簡約級結維緒聯職脅臟藝蟲補裝襲誡諾謊謠譴護趕蹤軌輕輔週"
    "遊運達遞遷鄰釀針鎖鑰長閱闖陣雖頓領顏飲養馬駭鬆魚袂毋哋俾場紙車國媽爺頁員動財銀錢輪預測優勞勝參層廠徹齊㗎嚟咩冊滿恥隨夠決備當創別併僱駕釣鑒鑑縱隻麽託腳膽妳臨"
)
_SIMPLIFIED = (
    "无绝协帮询说话题请违规内关于对这个写给为与应该没办实难换谈议欢乐愿爱伤险热线报专业医师谅见遗谢络骗触权范围条准则编制产拟设计骤仅从会过还将让现体学习发资讯据责详细术种样么们来后时间开问认识论评价观点错误视严处"
    "执输译续继终断吗是不的他这给没些骂谁药毁坏贴标签劝离导连单独频网买卖证账户号码楼门闭电脑声笔画书阳阴务经济极属历头尽尽显诚质转软不识产碍咨拨弃滥众岁义儿气亲传试干闹压适顾伦广区举诱诽谤枪弹复纪远边检团构疗诊抚"
    "忧郁灵听担读讲绍势闲斗献炼荡偿赔赌瘾杀尸窃盗伪凶赞获丽旧双称确几释归负费购销隐迟静顺须风飞驶验脏寿梦虑愤怀战择损扰敌敛晓东树桥横栏残灭洁烦尔牵状疯皱监祸积简约级结维绪联职胁脏艺虫补装袭诫诺谎谣谴护赶踪轨轻辅周"
    "游运达递迁邻酿针锁钥长阅闯阵虽顿领颜饮养马骇松鱼不不们给场纸车国妈爷页员动财银钱轮预测优劳胜参层厂彻齐的来吗册满耻随够决备当创别并雇驾钓鉴鉴纵只么托脚胆你临"
)
_SIMPLER = str.maketrans(_TRADITIONAL, _SIMPLIFIED)


class Looked(NamedTuple):
    """What the model weighs: runs of characters, and marks such as `sentences>3`."""

    runs: frozenset[str]
    marks: frozenset[str]


class Scores(NamedTuple):
    """Log odds. `refuses`: at least a part is refused; `gives`: at least a part is given."""

    refuses: float
    gives: float


def look(whole: str, own: str, found: Iterable[str]) -> Looked:
    """What there is to weigh in an answer, all of it lower-cased NFKC.

    Args:
        whole: The answer with its quotations and code.
        own: The same without them.
        found: Ids of English phrases that refuse in it.
    """
    text = own.translate(_SIMPLER)
    text = _SPACE.sub(" ", text).strip()
    marks = {*found, *_more_than("size", len(text), _SIZES)}
    if len(text) > HEAD + TAIL:
        text = text[:HEAD] + text[-TAIL:]
    asked = own.count("?")
    marks.update(_more_than("sentences", sum(1 for _ in _END.finditer(own)), (1, 2, 3, 5, 8)))
    marks.update(_more_than("questions", asked, (0, 1)))
    marks.update(_more_than("digits", sum(1 for _ in _DIGIT.finditer(own)), (0, 2, 5)))
    marks.update(_more_than("items", sum(1 for _ in _ITEM.finditer(whole)), (0, 2)))
    marks.update(_more_than("lines", whole.count("\n"), (0, 2, 6)))
    if asked and own.rstrip().rstrip(")").endswith("?"):
        marks.add("ends asking")
    quoted = 100 * (len(whole) - len(own)) // max(1, len(whole))
    marks.update(_more_than("quoted", quoted, (0, 20, 50, 90)))
    if whole[:1] in _OPENING and whole[-1:] in _CLOSING:
        marks.add("quoted from end to end")
    if ":" in whole:
        marks.add("colon")
    if _WORD.search(own) is not None:
        marks.add("latin")
    return Looked(_runs(text), frozenset(marks))


def _runs(text: str) -> frozenset[str]:
    twos = list(map(str.__add__, text, text[1:]))
    threes = list(map("".join, zip(text, text[1:], text[2:], strict=False)))

    def of_part(start: int, end: int) -> Iterable[str]:
        return chain(twos[start : max(start, end - 1)], threes[start : max(start, end - 2)])

    length = len(text)
    bounds = [0, *(end.end() for end in _END.finditer(text)), length]
    first, last = bounds[1], max(bound for bound in bounds if bound < length or not bound)
    clauses = _CLAUSE.findall(text)
    return frozenset(
        chain(
            text, twos, threes,
            map("^".__add__, of_part(0, EDGE)),
            map("$".__add__, of_part(max(0, length - EDGE), length)),
            map("F".__add__, chain(text[:first], of_part(0, first))),
            map("L".__add__, chain(text[last:], of_part(last, length))),
            map("S".__add__, chain(text, twos, threes)) if length <= EDGE else (),
            [f"<{clause[:size]}" for clause in clauses for size in (1, 2, 3)],
            [f">{clause[-size:]}" for clause in clauses for size in (1, 2, 3)],
        )
    )  # fmt: skip


def score(looked: Looked) -> Scores:
    """How likely the answer refuses, and gives; above 0 is more likely than not."""
    start, runs, marks = _weights()
    length = math.sqrt(len(looked.runs)) or 1.0
    # The two weights of a run are one complex number, which halves the work.
    both = start + sum(filter(None, map(runs.get, looked.runs))) / length
    both += MARK * sum(map(marks.get, looked.marks, repeat(0j)))
    return Scores(both.real, both.imag)


class _Weights(NamedTuple):
    """Of refusing, and of giving as the imaginary part."""

    start: complex
    runs: dict[str, complex]
    marks: dict[str, complex]


@cache
def _weights() -> _Weights:
    read = json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))
    return _Weights(
        complex(*read["start"]),
        {run: complex(*pair) for run, pair in read["runs"].items()},
        {mark: complex(*pair) for mark, pair in read["marks"].items()},
    )


def _more_than(name: str, count: int, bounds: tuple[int, ...]) -> Iterable[str]:
    return (f"{name}>{bound}" for bound in bounds if count > bound)
