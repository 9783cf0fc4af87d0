"""Files are whole or not there, and are found while other processes add and remove some."""

import os

import pytest

from lbbench.records import files


def test_files_are_found_sorted_while_directories_go(tmp_path, monkeypatch):
    for name in ("b/2.json", "a/x/1.json", "a/1.json", "a/1.jsonl", "c/1.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    scandir = os.scandir

    def scan(path):
        files.remove(tmp_path / "c" / "1.json", tmp_path / "c")
        return scandir(path)

    found = [tmp_path / name for name in ("a/1.json", "a/x/1.json", "b/2.json", "c/1.json")]
    assert files.below(tmp_path, ".json") == found
    monkeypatch.setattr(os, "scandir", scan)
    assert files.below(tmp_path, ".json") == found[:3]
    assert files.below(tmp_path / "nowhere", ".json") == []


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    file = tmp_path / "deep" / "a.txt"
    with files.replacing(file) as writing:
        writing.write(b"first")
    with pytest.raises(TypeError), files.replacing(file) as writing:
        writing.writelines([b"half of the sec", None])
    assert [(path.name, path.read_bytes()) for path in file.parent.iterdir()] == [("a.txt", b"first")]


@pytest.mark.parametrize(
    ("error", "told"),
    [(OSError(28, "No space left on device"), "a.txt"), (OSError("of its own"), "of its own")],
)
def test_an_error_of_the_disk_names_the_file(error, told, tmp_path):
    with pytest.raises(OSError, match=told), files.replacing(tmp_path / "a.txt"):
        raise error


def test_empty_directories_go_up_to_the_top(tmp_path):
    file = tmp_path / "top" / "a" / "b" / "1.json"
    file.parent.mkdir(parents=True)
    file.touch()
    (tmp_path / "top" / "other").touch()
    files.remove(file, tmp_path / "top")
    assert list((tmp_path / "top").iterdir()) == [tmp_path / "top" / "other"]
    files.remove(tmp_path / "top" / "other", tmp_path / "top")
    assert list(tmp_path.iterdir()) == []
