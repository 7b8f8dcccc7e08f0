"""A store whose files were damaged, replaced or taken away: never another completion's text, never a silent loss."""

from __future__ import annotations

import json
import shutil

import pytest

from nlgeval_lib import paths
from nlgeval_lib.schema import Completion
from nlgeval_lib.store import Store, StoreError, census, completion_key, lines, verify


def made(number: int) -> Completion:
    key = completion_key(model="m", revision="r", prompt=f"prompt {number}", sampling={})
    return Completion(key=key, text=f"text {number}", model="m", revision="r")


@pytest.fixture
def filled(tmp_path):
    """The folder of a store with three completions in one segment."""
    with Store(tmp_path / "store") as store:
        store.put_many(map(made, range(3)))
    return tmp_path / "store"


def test_one_flipped_bit_anywhere_costs_one_record_and_blocks_nothing(filled):
    path = filled / "0000.jsonl"
    whole = path.read_bytes()
    length = len(whole) // 3
    for place in range(length, 2 * length):
        broken = bytearray(whole)
        broken[place] ^= 1 << place % 8
        path.write_bytes(broken)
        with Store(filled) as store:
            found = [store.get(made(number).key) for number in range(3)]
            assert all(one in (None, made(number)) for number, one in enumerate(found)), place
            assert found.count(None) <= 2, place  # a broken line end costs the line after it too
            assert store.put_many(map(made, range(3))) == found.count(None)
            assert store.get_many(made(number).key for number in range(3)).keys() == {made(n).key for n in range(3)}
        path.write_bytes(whole)
        for other in filled.glob("*.jsonl"):
            if other != path:
                other.unlink()


def test_a_record_that_another_took_the_place_of_is_never_given_for_it(filled):
    path = filled / "0000.jsonl"
    with Store(filled) as store:
        swapped = path.read_bytes().splitlines(keepends=True)[::-1]  # all of one length
        with open(path, "r+b") as file:
            file.writelines(swapped)
        with pytest.raises(StoreError, match=r"0000\.jsonl is not what it was .*it is that of"):
            store.get_many([made(0).key])
    with Store(filled) as store:
        assert store.get(made(0).key) == made(0)


def test_a_segment_that_is_taken_away_is_noticed_when_it_is_made_safe(filled):
    with Store(filled) as store:
        store.put(made(3))
        shutil.rmtree(filled)
        store.put(made(4))  # into a file that has no name any more
        with pytest.raises(StoreError, match=r"0000\.jsonl was removed while the store was open"):
            store.sync()


@pytest.mark.parametrize(("name", "says"), [("link", "a link to a file that is not there"), ("folder", "directory")])
def test_what_is_no_segment_is_named(filled, name, says):
    odd = filled / "odd.jsonl"
    odd.symlink_to(filled / "gone") if name == "link" else odd.mkdir()
    with pytest.raises(StoreError, match=rf"(?i)odd\.jsonl: .*{says}"):
        Store(filled)


def test_a_whole_record_without_a_text_is_told_and_found_by_verify(filled):
    key = made(7).key
    with open(filled / "0000.jsonl", "ab") as file:
        file.write(lines.encode(key, {"finish_reason": "stop"}))
    with Store(filled) as store:
        with pytest.raises(ValueError, match=f"the record {key[:12]} has no text"):
            store.get(key)
        assert [one.problem.partition(":")[0] for one in verify(store).damaged] == ["not a record of this store"]


@pytest.mark.parametrize("damage", [{"seen": "far"}, {"seen": -1}, {"counts": None}, {"counts": [[1]]}])
def test_a_damaged_count_is_made_again(filled, damage, tmp_path, monkeypatch):
    monkeypatch.setenv("NLGEVAL_STATE", str(tmp_path / "state"))
    assert census(filled) == {("m", "r"): 3}
    [kept] = paths.state("census").glob("*.json")
    before = json.loads(kept.read_text())
    kept.write_text(json.dumps({name: {**counted, **damage} for name, counted in before.items()}))
    assert census(filled) == {("m", "r"): 3} and json.loads(kept.read_text()) == before
