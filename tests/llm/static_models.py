"""Static models in folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace


def static_folder(folder: Path) -> Path:
    """A model as model2vec writes one, of a few words."""
    folder.mkdir()
    words = {"[UNK]": 0, "cash": 1, "money": 2, "rain": 3, "email": 4, "the": 5, "a": 6}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.array([[0, 0], [1, 0.1], [1, 0], [0, 1], [1, 1], [-1, 0.3], [0, -1]], np.float32)
    save_file({"embeddings": table}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"normalize": True}))
    return folder
