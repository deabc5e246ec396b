"""The records of a sweep as a data frame."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Union

from ._errors import SettingError
from ._frostline import Table, read_records

if TYPE_CHECKING:
    import pandas


def load_records(folder: Union[str, "os.PathLike[str]"]) -> "Records":
    """Reads a sweep's folder: a row for each cell, also for those that failed or have not run.

    The result exports Arrow (`polars.DataFrame(records)`, `pyarrow.table(records)`); `records.pandas()` is a data frame.
    """
    return Records(read_records(folder))


class Records:
    """A row for each cell of a sweep."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.table.column_names

    def pandas(self) -> "pandas.DataFrame":
        """A data frame; needs `pip install frostline[pandas]`."""
        try:
            import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError as error:
            raise SettingError("pandas() needs pandas and pyarrow", "run `pip install frostline[pandas]`") from error
        frame: "pandas.DataFrame" = pyarrow.table(self.table).to_pandas()
        return frame

    def __len__(self) -> int:
        return len(self.table)

    def __arrow_c_schema__(self) -> object:
        return self.table.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"Records({len(self)} cells)"
