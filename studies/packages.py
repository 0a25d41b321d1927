"""The packages of `packages.toml`: downloaded, checked, unpacked.

Packages come through the ordinary clients of their registries (`npm pack`, `pip download`,
`apt-get download`) into a cache outside the repository: $LOADPATH_CACHE/packages, by default
~/.cache/loadpath/packages.

usage: studies/packages.py [SITE...] downloads and unpacks sites, by default all
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from loadpath.cli.console import print_error, print_note
from loadpath.errors import LoadpathError, NotFoundError, hinted

__all__ = ["Package", "Site", "cache_folder", "read_sites", "unpacked"]

LIST = Path(__file__).with_name("packages.toml")


class Package(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package at a pinned version."""

    registry: Literal["npm", "pypi", "debian"]
    name: str
    version: str
    sha256: str
    """Of the file that the registry has."""


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text to be replaced in a file of a site."""

    file: str
    old: str
    new: str


class Site(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is served from one folder; `packages.toml` explains the fields."""

    name: str
    about: str
    packages: list[Package]
    root: str
    pages: dict[str, str]
    inner: str | None = None
    copy: dict[str, str] = {}
    replace: list[Replacement] = []
    php: str | None = None


class _List(msgspec.Struct, forbid_unknown_fields=True):
    site: list[Site]


def read_sites(names: Sequence[str] = ()) -> list[Site]:
    """The sites of the list that have one of these names, or a page that has; by default all.

    Raises
    ------
    NotFoundError
        A name is not on the list.
    """
    sites = msgspec.toml.decode(LIST.read_bytes(), type=_List).site
    known = {name for site in sites for name in (site.name, *site.pages)}
    for name in names:
        if name not in known:
            raise hinted(
                NotFoundError(f"there is no site {name!r}"),
                f"{LIST.name} has {', '.join(sorted(known))}",
            )
    return [site for site in sites if not names or {site.name, *site.pages} & set(names)]


def cache_folder() -> Path:
    """Where downloads and unpacked sites are kept."""
    base = os.environ.get("LOADPATH_CACHE")
    return (Path(base) if base else Path.home() / ".cache" / "loadpath") / "packages"


def unpacked(site: Site) -> Path:
    """The folder of a site's packages, unpacked over each other; downloads what is not there.

    Raises
    ------
    LoadpathError
        A package cannot be had, or is not the one that was pinned.
    """
    content = (site.packages, site.inner, site.copy, site.replace, site.php)
    digest = hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:12]
    folder = cache_folder() / "unpacked" / f"{site.name}-{digest}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{site.name}."))
    try:
        for package in site.packages:
            _unpack(_downloaded(package), scratch)
        if site.inner is not None:
            inner = scratch / site.inner
            archive = scratch.with_name(f"{scratch.name}{''.join(inner.suffixes[-1:])}")
            inner.rename(archive)
            shutil.rmtree(scratch)
            scratch.mkdir()
            try:
                _unpack(archive, scratch)
            finally:
                archive.unlink()
        _lead_links_inside(scratch)
        for source, target in site.copy.items():
            (scratch / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(scratch / source, scratch / target)
        for replacement in site.replace:
            _replace(scratch / replacement.file, replacement)
        if site.php is not None:
            _move_php(scratch, folder)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _downloaded(package: Package) -> Path:
    folder = cache_folder() / "downloads" / package.sha256[:12]
    if not folder.is_dir():
        print_note(f"downloading {package.name} {package.version}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".download."))
        try:
            _download(package, scratch)
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return next(folder.iterdir())


def _download(package: Package, folder: Path) -> None:
    match package.registry:
        case "npm":
            command = ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
        case "pypi":
            wanted = f"{package.name}=={package.version}"
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", wanted]
        case "debian":
            command = ["apt-get", "download", "-qq", f"{package.name}={package.version}"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise LoadpathError(f"{package.name}: there is no {command[0]} on this machine") from error
    except subprocess.CalledProcessError as error:
        reason = (error.stderr or error.stdout).strip().splitlines() or ["no message"]
        raise LoadpathError(f"{' '.join(command)}: {reason[-1]}") from error
    files = list(folder.iterdir())
    if len(files) != 1:
        raise LoadpathError(f"{' '.join(command)}: got {len(files)} files")
    found = hashlib.sha256(files[0].read_bytes()).hexdigest()
    if found != package.sha256:
        raise LoadpathError(
            f"{files[0].name}: its SHA-256 is {found}, expected {package.sha256} ({LIST.name})"
        )


def _unpack(archive: Path, folder: Path) -> None:
    if archive.suffix == ".deb":
        subprocess.run(["dpkg", "-x", archive, folder], check=True)
    elif archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)
    else:
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")


def _lead_links_inside(folder: Path) -> None:
    """Debian's packages link to absolute paths, which here begin with `folder`."""
    for path in folder.rglob("*"):
        if path.is_symlink() and path.readlink().is_absolute():
            target = folder / path.readlink().relative_to("/")
            path.unlink()
            path.symlink_to(os.path.relpath(target, path.parent))


def _replace(path: Path, replacement: Replacement) -> None:
    text = path.read_text()
    if replacement.old not in text:
        raise LoadpathError(f"{path.name}: does not contain {replacement.old!r} ({LIST.name})")
    path.write_text(text.replace(replacement.old, replacement.new))


def _move_php(folder: Path, final: Path) -> None:
    """Debian's PHP code names absolute paths, which here begin with `final`."""
    for path in folder.rglob("*.php"):
        if path.is_file() and not path.is_symlink():
            text = path.read_bytes()
            moved = re.sub(
                rb"""(['"])(/(?:etc|usr/share|var/lib)/)""",
                lambda found: found[1] + os.fsencode(final) + found[2],
                text,
            )
            if moved != text:
                path.write_bytes(moved)


def main() -> int:
    """Download and unpack."""
    try:
        for site in read_sites(sys.argv[1:]):
            print(json.dumps({"site": site.name, "folder": str(unpacked(site))}))
    except LoadpathError as error:
        print_error(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
