"""Writes a pure Python wheel: the same content gives the same bytes, whenever and wherever it is built."""

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
_MODE: Final = 0o100644 << 16


@dataclass(frozen=True)
class Wheel:
    """Name and metadata of a wheel."""

    name: str
    version: str
    summary: str
    license: str
    requires: Sequence[str] = ()
    description: str = ""
    tag: str = "py3-none-any"

    @property
    def file_name(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-{self.tag}.whl"

    def write(self, folder: Path, files: Mapping[str, bytes]) -> Path:
        """Write the wheel with these files, by their path below site-packages."""
        info = f"{self.name.replace('-', '_')}-{self.version}.dist-info"
        contents = {**files, f"{info}/METADATA": self._metadata(), f"{info}/WHEEL": self._wheel()}
        record = [
            f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
            for path, data in contents.items()
        ]
        contents[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / self.file_name
        partial = target.with_suffix(".part")
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, data in contents.items():
                entry = zipfile.ZipInfo(path, _EARLIEST)
                entry.external_attr, entry.compress_type = _MODE, zipfile.ZIP_DEFLATED
                archive.writestr(entry, data)
        return partial.replace(target)

    def _metadata(self) -> bytes:
        lines = [
            "Metadata-Version: 2.4",
            f"Name: {self.name}",
            f"Version: {self.version}",
            f"Summary: {self.summary}",
            f"License-Expression: {self.license}",
            "Requires-Python: >=3.11",
            *(f"Requires-Dist: {requirement}" for requirement in self.requires),
            "Description-Content-Type: text/markdown",
        ]
        return "\n".join([*lines, "", self.description, ""]).encode()

    def _wheel(self) -> bytes:
        return f"Wheel-Version: 1.0\nGenerator: memory-butler\nRoot-Is-Purelib: true\nTag: {self.tag}\n".encode()
