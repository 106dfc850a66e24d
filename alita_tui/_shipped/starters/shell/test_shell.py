from pathlib import Path

from shell import run


def refused(**arguments):
    try:
        run(**arguments)
    except ValueError as error:
        return str(error)
    raise AssertionError("it was not refused")


def test_what_is_printed_and_how_it_ended_is_returned():
    found = run("echo out; echo err >&2; exit 3")
    assert (found["exit_code"], found["stdout"], found["stderr"]) == (3, "out\n", "err\n")
    assert found["files"] == [] and found["cut"] is False


def test_a_pipe_works_on_copies_of_the_files():
    Path("in").mkdir()
    Path("in/names.txt").write_text("b\na\nb\n")
    found = run("sort names.txt | uniq -c | tee counted.txt", files=["in/names.txt"])
    assert found["stdout"].split() == ["1", "a", "2", "b"]
    assert found["files"] == ["counted.txt"]
    assert Path("in/names.txt").read_text() == "b\na\nb\n"


def test_a_changed_copy_is_left_and_the_original_is_not():
    Path("in").mkdir(exist_ok=True)
    Path("in/a.txt").write_text("one\n")
    found = run("echo two >> a.txt", files=["in/a.txt"])
    assert found["files"] == ["a.txt"] and Path("a.txt").read_text() == "one\ntwo\n"
    assert Path("in/a.txt").read_text() == "one\n"


def test_it_reads_stdin_and_long_output_is_cut():
    assert run("tr a-z A-Z", stdin="quiet")["stdout"] == "QUIET"
    found = run("yes | head -n 20000")
    assert len(found["stdout"]) == 20_000 and found["cut"] is True


def test_what_cannot_be_done_is_refused():
    Path("one").mkdir(exist_ok=True)
    Path("two").mkdir(exist_ok=True)
    for folder in ("one", "two"):
        Path(folder, "same.txt").write_text(folder)
    assert "two files are called" in refused(command="true", files=["one/same.txt", "two/same.txt"])
    assert "there is no file" in refused(command="true", files=["gone.txt"])
    assert "a line for" in refused(command="  ")
    assert "NUL" in refused(command="echo \0")
    assert run("no-such-program")["exit_code"] == 127
