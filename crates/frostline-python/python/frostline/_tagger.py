"""`Tagger`: a trained model in use, through the program `frostline tag`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import List, Sequence, Tuple, Union, overload

from . import _program
from ._errors import DataError, SettingError


class Tagger:
    """Tags words or text with a model that a sweep saved, or a token classifier in Hugging Face's layout.

    Each call starts the program once, so give all sentences together.
    """

    def __init__(self, folder: Path, options: List[str]) -> None:
        self.folder = folder
        self._options = options

    @classmethod
    def load(cls, folder: Union[str, "os.PathLike[str]"], *, threads: int = 0, backend: str = "") -> "Tagger":
        """Names the folder of a model, or of a cell that saved one."""
        path = Path(folder)
        if not path.is_dir():
            raise SettingError("there is no such folder", "give the folder of a trained model", str(path))
        _program.find_program()
        options = ["--threads", str(threads)] if threads else []
        return cls(path, options + (["--backend", backend] if backend else []))

    @overload
    # A str is a sequence of str too, but never a sentence.
    def tag(self, words: str) -> List[List[Tuple[str, str]]]: ...  # type: ignore[overload-overlap]

    @overload
    def tag(self, words: Sequence[Sequence[str]]) -> List[List[str]]: ...

    def tag(
        self, words: Union[str, Sequence[Sequence[str]]]
    ) -> Union[List[List[str]], List[List[Tuple[str, str]]]]:
        """The tags of sentences that are lists of words; for a text, the words of its sentences with their tags."""
        if isinstance(words, str):
            return self._run(words, ["--format", "text"])
        for number, sentence in enumerate(words):
            if isinstance(sentence, str):
                advice = "give a list of sentences, each a list of words, or one text"
                raise SettingError(f"sentence {number} is the string {sentence!r}, expected a list of words", advice)
            if not sentence:
                raise SettingError(f"sentence {number} has no words", "leave it out")
        tagged = self._run(_conllu(words), ["--format", "conllu"])
        if [len(sentence) for sentence in tagged] != [len(sentence) for sentence in words]:
            raise DataError("the program returned other sentences than it was given", "report this as a bug")
        return [[tag for _, tag in sentence] for sentence in tagged]

    def _run(self, text: str, options: List[str]) -> List[List[Tuple[str, str]]]:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="frostline-") as folder:
            path = Path(folder) / "input"
            path.write_bytes(text.encode())
            arguments = ["tag", "--run", str(self.folder), "--input", str(path), "--output", "tsv"]
            arguments += options + self._options
            process = _program.start(arguments)
            try:
                out, err = process.communicate()
            except BaseException:
                process.kill()
                process.wait()
                raise
        if process.returncode != 0:
            raise _program.failed(arguments, process.returncode, err)
        sentences: List[List[Tuple[str, str]]] = []
        for block in out.decode().split("\n\n"):
            rows = [line.rsplit("\t", 1) for line in block.split("\n") if line]
            if rows:
                sentences.append([(row[0], row[1]) for row in rows])
        return sentences

    def __repr__(self) -> str:
        return f"Tagger({str(self.folder)!r})"


def _conllu(sentences: Sequence[Sequence[str]]) -> str:
    lines: List[str] = []
    for sentence_number, sentence in enumerate(sentences):
        for number, word in enumerate(sentence, 1):
            if not word.strip() or any(mark in word for mark in "\t\n\r"):
                place = f"word {number} of sentence {sentence_number} is {word!r}"
                raise SettingError(f"{place}, expected text without tabs and line ends", "correct the word")
            lines.append(f"{number}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"
