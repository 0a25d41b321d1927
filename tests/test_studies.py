"""The machinery of the studies, with a package that this file makes."""

import hashlib
import http.client
import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest

import packages
from loadpath.errors import LoadpathError, NotFoundError
from loadpath.graphs import read_graph
from packages import Package, Replacement, Site, read_sites, unpacked
from profile_packages import compare_structures
from serving import serving

PAGE = b"<!doctype html><title>a page</title>" + b"<p>text</p>" * 100


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package, and an `npm` that has it and no other."""
    archive = tmp_path / "page-1.0.0.tgz"
    with tarfile.open(archive, "w:gz") as file:
        info = tarfile.TarInfo("package/index.html")
        info.size = len(PAGE)
        file.addfile(info, io.BytesIO(PAGE))
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(
        "#!/bin/sh\n"
        f'[ "$3" = page@1.0.0 ] || {{ echo "npm error 404 no such package" >&2; exit 1; }}\n'
        f"cp {archive} .\n"
    )
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("LOADPATH_CACHE", str(tmp_path / "cache"))
    return archive


def site(archive: Path, **fields: object) -> Site:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    package = Package(registry="npm", name="page", version="1.0.0", sha256=digest)
    values: dict[str, object] = {
        "name": "page",
        "about": "",
        "packages": [package],
        "root": "package",
        "pages": {"page": "/"},
    }
    return Site(**(values | fields))  # type: ignore[arg-type]


def test_list_has_sites_of_three_registries_with_a_host_for_each_page() -> None:
    sites = read_sites()
    assert len(sites) >= 12
    assert {package.registry for site in sites for package in site.packages} == {
        *("npm", "pypi", "debian")
    }
    names = [page for site in sites for page in site.pages]
    assert len(set(names)) == len(names)


def test_unknown_site_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(NotFoundError, match="no site 'nothing'") as caught:
        read_sites(["nothing"])
    assert "dokuwiki" in caught.value.__notes__[0]


def test_package_is_unpacked_once_and_text_replaced(registry: Path) -> None:
    changed = site(
        registry, replace=[Replacement(file="package/index.html", old="a page", new="another")]
    )
    folder = unpacked(changed)
    assert b"<title>another</title>" in (folder / "package/index.html").read_bytes()
    shutil.rmtree(registry.parent / "bin")
    assert unpacked(changed) == folder


def test_package_with_another_hash_is_refused_and_not_kept(registry: Path) -> None:
    other = Package(registry="npm", name="page", version="1.0.0", sha256="0" * 64)
    with pytest.raises(LoadpathError, match=r"page-1\.0\.0\.tgz: its SHA-256 is"):
        unpacked(site(registry, packages=[other]))
    assert not [path for path in packages.cache_folder().rglob("*") if path.is_file()]


def test_package_that_the_registry_lacks_is_an_error_with_its_words(registry: Path) -> None:
    other = Package(registry="npm", name="page", version="2.0.0", sha256="0" * 64)
    with pytest.raises(LoadpathError, match="404 no such package"):
        unpacked(site(registry, packages=[other]))


def test_absolute_links_lead_inside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "usr/share").mkdir(parents=True)
    (tmp_path / "usr/share/file").write_text("content")
    link = tmp_path / "usr/link"
    link.symlink_to("/usr/share/file")
    packages._lead_links_inside(tmp_path)
    assert link.read_text() == "content"
    assert not link.readlink().is_absolute()


@pytest.mark.skipif(
    shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") is None, reason="missing: nginx"
)
def test_page_is_served_compressed_by_the_name_of_its_host(registry: Path) -> None:
    with serving([site(registry)]) as server:
        assert server.url("page", "h2") == "https://page.site.test/"
        address = server.resolver_rules.split(",")[0].rpartition(" ")[2]
        connection = http.client.HTTPConnection(address, timeout=10)
        headers = {"Host": "page.site.test", "Accept-Encoding": "gzip"}
        connection.request("GET", "/", headers=headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
    assert response.status == 200
    assert response.headers["Content-Encoding"] == "gzip"
    assert len(body) < len(PAGE)


def test_structures_are_compared_with_the_commonest() -> None:
    one, other = read_graph("example:figure-3-1"), read_graph("example:spdy-page-a")
    found = compare_structures([other, one, one])
    assert (found.graphs, found.like_most) == (3, 2)
    assert all(count == 1 for count, _ in found.lines)
    assert any(line.startswith("without ") for _, line in found.lines)
