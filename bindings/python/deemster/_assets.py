"""Images that are sent beside the text (an experiment of the server)."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal
from uuid import uuid4

from ._errors import TypeSafeError

_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg"}
_REFERENCE = re.compile(rb"<image:[0-9a-f]{32}>")
_images: weakref.WeakValueDictionary[str, Image] = weakref.WeakValueDictionary()


class Image:
    """An image for the model to look at: PNG or JPEG bytes, or the path of such a file, which is read at the first use.

    `str(image)` is a reference that may stand in any text of the request; the image itself may stand in the state, in
    instructions and in criteria. Images referred to are sent with the request.

    Args:
        data: The file's bytes (any buffer) or its path.

    Example:
        >>> photo = Image.from_base64("iVBORw0KGgo=")
        >>> str(photo).startswith("<image:")
        True
    """

    __slots__ = ("__weakref__", "_reference", "_sent", "data")
    type: Literal["image"] = "image"

    def __init__(self, data: Any) -> None:
        self.data: Any = data
        self._reference = f"<image:{uuid4().hex}>"
        self._sent: dict[str, str] | None = None
        _images[self._reference] = self

    @classmethod
    def from_base64(cls, data: str | bytes) -> Image:
        """An image from base64 text; white space in it is ignored. Raises TypeSafeError for anything else."""
        text = data if isinstance(data, str) else bytes(data).decode("latin-1")
        try:
            raw = base64.b64decode("".join(text.split()), validate=True)
        except ValueError:
            raw = b""
        if not raw:
            raise TypeSafeError("An image must be non-empty base64 text.")
        return cls(raw)

    @classmethod
    def from_pil(cls, image: Any, format: str = "jpeg") -> Image:
        """An image from a Pillow image, saved with Pillow's defaults (JPEG at quality 95)."""
        import io

        file = io.BytesIO()
        try:
            image.save(file, format=format, quality=95)
        except (KeyError, OSError, ValueError) as error:
            raise TypeSafeError(f"Pillow cannot save the image as {format}: {error}") from error
        return cls(file.getvalue())

    def _wire(self) -> str:
        return self._reference

    def sent(self, name: str) -> dict[str, str]:
        """The entry of the request's `assets`; `name` says which image an error is about."""
        if self._sent is None:
            data = self.data
            if isinstance(data, os.PathLike):
                try:
                    with open(data, "rb") as file:
                        data = file.read()
                except OSError as error:
                    raise TypeSafeError(f"Asset {name!r}: the image file cannot be read: {error.strerror}.") from error
            if isinstance(data, str):
                raise TypeSafeError(f"Asset {name!r}: text is no image; use Image.from_base64 for base64 text.")
            try:
                raw = memoryview(data).tobytes()
            except (TypeError, ValueError):
                raise TypeSafeError(f"Asset {name!r}: an image is bytes, a buffer or a path.") from None
            kind = next((kind for signature, kind in _SIGNATURES.items() if raw.startswith(signature)), None)
            if kind is None:
                raise TypeSafeError(f"Asset {name!r}: the image is neither PNG nor JPEG.")
            self._sent = {"type": "image", "format": kind, "data_base64": base64.b64encode(raw).decode()}
        return self._sent

    def __str__(self) -> str:
        return self._reference

    def __repr__(self) -> str:
        return f"Image({self._reference})"


@contextlib.contextmanager
def attached(assets: Image | Sequence[Image]) -> Iterator[None]:
    """Keeps images alive and known for the length of a block."""
    kept = [assets] if isinstance(assets, Image) else list(assets)
    for asset in kept:
        if not isinstance(asset, Image):
            raise TypeSafeError(f"{asset!r} is no image.")
    yield


def gathered(assets: Mapping[str, Image] | None, *documents: bytes) -> dict[str, dict[str, str]]:
    """The request's `assets`: those given by name, and those whose reference stands in a document."""
    found: dict[str, dict[str, str]] = {}
    for name, asset in (assets or {}).items():
        if not isinstance(name, str) or not name.strip():
            raise TypeSafeError("The names of assets must be non-empty text.")
        if not isinstance(asset, Image):
            raise TypeSafeError(f"Asset {name!r} is no image.")
        found[name] = asset.sent(name)
    for document in documents:
        for reference in _REFERENCE.findall(document):
            image = _images.get(reference.decode())
            if image is not None and str(image) not in found:
                found[str(image)] = image.sent(str(image))
    return found
