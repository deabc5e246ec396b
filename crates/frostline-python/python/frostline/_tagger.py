"""`Tagger`: a trained model in use, through the program `frostline tag`."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Dict, List, Sequence, Tuple, Union, overload

from . import _program
from ._errors import DataError, SettingError

if TYPE_CHECKING:
    import subprocess

Rows = List[Tuple[str, str]]


class Tagger:
    """Tags words or text with a model that a sweep saved, or a token classifier in Hugging Face's layout.

    The first call starts the program, which loads the model and stays for later calls until `close()`, the end of a `with`
    block, or the end of Python. Many sentences in one call are tagged faster than one by one. Threads take turns.
    """

    def __init__(self, folder: Path, options: List[str]) -> None:
        self.folder = folder
        self._options = options
        self._lock = threading.Lock()
        # By the format of their input.
        self._running: Dict[str, _Running] = {}

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
            return self._run("text", words + "\n")
        for number, sentence in enumerate(words):
            if isinstance(sentence, str):
                advice = "give a list of sentences, each a list of words, or one text"
                raise SettingError(f"sentence {number} is the string {sentence!r}, expected a list of words", advice)
            if not sentence:
                raise SettingError(f"sentence {number} has no words", "leave it out")
        tagged = self._run("conllu", _conllu(words))
        if [len(sentence) for sentence in tagged] != [len(sentence) for sentence in words]:
            raise DataError("the program returned other sentences than it was given", "report this as a bug")
        return [[tag for _, tag in sentence] for sentence in tagged]

    def close(self) -> None:
        """Ends the program. A later call starts it again."""
        with self._lock:
            while self._running:
                self._running.popitem()[1].end()

    def _run(self, kind: str, text: str) -> List[Rows]:
        with self._lock:
            running = self._running.pop(kind, None)
            # A process that was forked must not use the pipes of its parent.
            if running is None or running.owner != os.getpid():
                arguments = ["tag", "--run", str(self.folder), "--output", "tsv", "--format", kind]
                running = _Running(arguments + self._options)
            try:
                tagged = running.tag(text, kind)
            except BaseException:
                running.end()
                raise
            self._running[kind] = running
            return tagged

    def __enter__(self) -> "Tagger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Tuple[object, ...]:
        return Tagger, (self.folder, self._options)

    def __repr__(self) -> str:
        return f"Tagger({str(self.folder)!r})"


class _Running:
    """A process of the program that tags what is written to its standard input."""

    def __init__(self, arguments: List[str]) -> None:
        import secrets
        import tempfile
        import weakref

        self.owner = os.getpid()
        self._arguments = arguments
        # A word that ends each request. It consists of letters, so it is not split.
        self._last = "frostline" + "".join(chr(ord("a") + byte % 26) for byte in secrets.token_bytes(16))
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        # Ctrl-C in a terminal does not reach it.
        self._process = _program.start(
            arguments, own_session=os.name != "nt", takes_input=True, errors=self._errors
        )
        self.end = weakref.finalize(self, _end, self._process, self._errors, self.owner)

    def tag(self, text: str, kind: str) -> List[Rows]:
        """The rows of each sentence of a text."""
        last = _conllu([[self._last]]) if kind == "conllu" else self._last + "\n"
        # The program answers before it has read everything, so this thread reads meanwhile.
        writer = threading.Thread(target=self._write, args=((text + last).encode(),), daemon=True)
        writer.start()
        sentences: List[Rows] = []
        rows: Rows = []
        output = self._process.stdout
        assert output is not None
        for line in output:
            word, tab, tag = line.decode().rstrip("\n").rpartition("\t")
            if tab:
                rows.append((word, tag))
            elif rows:
                if rows[0][0] == self._last:
                    writer.join()
                    return sentences
                sentences.append(rows)
                rows = []
        code = self._process.wait()
        self._errors.seek(0)
        raise _program.failed(self._arguments, code, self._errors.read())

    def _write(self, text: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(text)
            pipe.flush()
        except OSError:
            # The program has ended, which the reader notices.
            pass


def _end(process: "subprocess.Popen[bytes]", errors: IO[bytes], owner: int) -> None:
    """Ends a process of the program, unless it belongs to the parent of this one."""
    if os.getpid() == owner:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, errors):
        try:
            if pipe is not None:
                pipe.close()
        except OSError:
            pass


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
