import xml.etree.ElementTree as ET
from pathlib import Path

from chart import run

POINTS = [{"x": "north", "y": 10}, {"x": "south", "y": 25.5}, {"x": "a <b> & c", "y": -5}]


def parts(name, file="chart.svg"):
    return ET.parse(file).getroot().findall(".//{http://www.w3.org/2000/svg}" + name)


def words(file="chart.svg"):
    return [part.text for part in parts("text", file)]


def refused(**arguments):
    try:
        run(**arguments)
    except ValueError as error:
        return str(error)
    raise AssertionError("it was not refused")


def test_bars_stand_on_zero():
    found = run("bar", POINTS, title="Sales")
    assert found == {"file": "chart.svg", "kind": "bar", "points": 3, "smallest": -5.0, "largest": 25.5}
    bars = [part for part in parts("rect") if part.get("x")]
    ends = [(float(bar.get("y")), float(bar.get("y")) + float(bar.get("height"))) for bar in bars]
    assert len(bars) == 3 and abs(ends[0][1] - ends[1][1]) < 0.2 and abs(ends[2][0] - ends[0][1]) < 0.2
    assert abs((ends[1][1] - ends[1][0]) / (ends[0][1] - ends[0][0]) - 2.55) < 0.02
    assert {"Sales", "north", "a <b> & c", "0", "-10", "30"} <= set(words())


def test_a_line_joins_its_points_in_order():
    run("line", [{"x": str(year), "y": year - 2000} for year in range(2001, 2005)], save_as="line.svg")
    (line,) = parts("polyline", "line.svg")
    places = [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)
    assert len(parts("circle", "line.svg")) == 4
    run("line", [{"x": str(number), "y": number % 7} for number in range(100)], save_as="long.svg")
    assert (
        parts("circle", "long.svg") == [] and "0" in words("long.svg") and "1" not in words("long.svg")[-20:]
    )


def test_a_scatter_chart_places_both_numbers():
    run("scatter", [{"x": 0, "y": 0}, {"x": 5, "y": 10}, {"x": 10, "y": 20}])
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in parts("circle")]
    assert abs(dots[1][0] * 2 - dots[0][0] - dots[2][0]) < 0.3
    assert abs(dots[1][1] * 2 - dots[0][1] - dots[2][1]) < 0.3
    assert dots[0][1] > dots[2][1]


def test_a_table_is_drawn():
    Path("sales.csv").write_text("\ufeffregion,amount\nnorth,10\nsouth,30\n")
    found = run("bar", table="sales.csv", x="region", y="amount")
    assert found["points"] == 2 and {"region", "amount", "south"} <= set(words())
    assert "no column" in refused(kind="bar", table="sales.csv", x="region", y="price")
    assert "cannot be read" in refused(kind="bar", table="gone.csv", x="a", y="b")


def test_one_point_and_long_names_have_room():
    run("line", [{"x": "only", "y": 3}])
    assert len(parts("circle")) == 1
    run("bar", [{"x": "a very long name of a region", "y": 3}, {"x": "b\u202ec", "y": 4}])
    assert "a very long name …" in words() and "b\ufffdc" in words()


def test_very_large_and_very_small_numbers_are_drawn_or_refused():
    for kind in ("bar", "line", "scatter"):
        assert "too large" in refused(kind=kind, points=[{"x": 0, "y": -1e308}, {"x": 1, "y": 1e308}])
        for low, high in ((-1e300, 1e300), (1e300, 1e300), (1e16, 1e16), (1e16, 1e16 + 2), (5e-324, 1e-310)):
            found = run(kind, [{"x": 0, "y": low}, {"x": 1, "y": high}])
            assert (found["smallest"], found["largest"]) == (low, high)
            assert "nan" not in Path("chart.svg").read_text() and "inf" not in Path("chart.svg").read_text()
    assert "too large" in refused(kind="scatter", points=[{"x": "1e301", "y": 1}])


def test_what_cannot_be_drawn_is_refused():
    assert "kind" in refused(kind="pie", points=POINTS)
    assert "either" in refused(kind="bar") and "either" in refused(kind="bar", points=POINTS, table="a.csv")
    assert "no number" in refused(kind="bar", points=[{"x": "a", "y": "many"}])
    assert "no number" in refused(kind="bar", points=[{"x": "a"}])
    assert "no number" in refused(kind="bar", points=[{"x": "a", "y": True}])
    assert "cannot be drawn" in refused(kind="bar", points=[{"x": "a", "y": "inf"}])
    assert "no number" in refused(kind="scatter", points=POINTS)
    assert "more than" in refused(kind="line", points=[{"x": "a", "y": 1}] * 2001)
    assert ".svg" in refused(kind="bar", points=POINTS, save_as="chart.png")
    assert ".svg" in refused(kind="bar", points=POINTS, save_as="../chart.svg")
    assert ".svg" in refused(kind="bar", points=POINTS, save_as=".svg")
    Path("empty.csv").write_text("a,b\n")
    assert "nothing" in refused(kind="bar", table="empty.csv", x="a", y="b")
