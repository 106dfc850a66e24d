# /// script
# requires-python = ">=3.11"
# dependencies = ["pillow>=11,<14"]
# ///
"""Say what a picture is: format, size, colours, when and with what it was taken; optionally a smaller copy."""

from __future__ import annotations

from pathlib import Path

from PIL import ExifTags, Image, UnidentifiedImageError

_TOLD = ("DateTime", "Make", "Model", "Orientation", "Software")


def run(picture: str, resize_to: int = 0, save_as: str = "") -> dict[str, object]:
    """Returns format, width, height, mode, number of frames and what the camera wrote.

    With `resize_to` (pixels of the longer side) and `save_as`, a copy is left under that name, never larger
    than the picture. Where a picture was taken is not told. Raises ValueError for what is no picture.
    """
    if bool(resize_to) != bool(save_as):
        raise ValueError("resize_to and save_as go together")
    if save_as and (Path(save_as).name != save_as or save_as.startswith(".")):
        raise ValueError("save_as is a plain file name")
    if resize_to < 0:
        raise ValueError("resize_to has to be 1 or more")
    try:
        with Image.open(picture) as image:
            written = image.getexif()
            told = {
                name: str(written[tag])[:200]
                for tag, name in ExifTags.TAGS.items()
                if name in _TOLD and tag in written
            }
            found: dict[str, object] = {
                "format": image.format or "",
                "width": image.width,
                "height": image.height,
                "mode": image.mode,
                "frames": int(getattr(image, "n_frames", 1)),
                "camera": told,
            }
            if save_as:
                image.thumbnail((resize_to, resize_to))
                image.save(save_as)
                found |= {"file": save_as, "new_width": image.width, "new_height": image.height}
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise ValueError(f"the picture cannot be read or saved: {error}") from error
    return found


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
