from pathlib import Path

from image_info import run
from PIL import Image


def made(size=(60, 40), name="photo.jpg"):
    image = Image.new("RGB", size, (200, 30, 30))
    exif = Image.Exif()
    exif[0x010F], exif[0x0110], exif[0x0132] = "Maker", "M1", "2024:02:29 10:00:00"
    image.save(name, exif=exif)
    return name


def refused(**arguments):
    try:
        run(**arguments)
    except ValueError as error:
        return str(error)
    raise AssertionError("it was not refused")


def test_a_photo_is_described():
    found = run(made())
    assert (found["format"], found["width"], found["height"], found["mode"]) == ("JPEG", 60, 40, "RGB")
    assert found["frames"] == 1
    assert found["camera"] == {"Make": "Maker", "Model": "M1", "DateTime": "2024:02:29 10:00:00"}


def test_frames_are_counted_and_missing_facts_left_out():
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "green", "blue")]
    frames[0].save("moves.gif", save_all=True, append_images=frames[1:])
    found = run("moves.gif")
    assert found["format"] == "GIF" and found["frames"] == 3 and found["camera"] == {}


def test_a_smaller_copy_is_left():
    found = run(made(), resize_to=30, save_as="small.png")
    assert (found["file"], found["new_width"], found["new_height"]) == ("small.png", 30, 20)
    assert Image.open("small.png").size == (30, 20) and found["width"] == 60
    kept = run(made(), resize_to=500, save_as="same.png")
    assert (kept["new_width"], kept["new_height"]) == (60, 40)


def test_what_cannot_be_done_is_refused():
    Path("no.png").write_text("no picture")
    assert "cannot be read" in refused(picture="no.png")
    assert "cannot be read" in refused(picture="gone.png")
    assert "go together" in refused(picture=made(), resize_to=10)
    assert "go together" in refused(picture=made(), save_as="a.png")
    assert "plain file name" in refused(picture=made(), resize_to=10, save_as="../a.png")
    assert "plain file name" in refused(picture=made(), resize_to=10, save_as=".a.png")
    assert "1 or more" in refused(picture=made(), resize_to=-1, save_as="a.png")
    assert "cannot be read or saved" in refused(picture=made(), resize_to=10, save_as="a.unknown")
