"""The rooms of the house: each imports only from rooms below it, and no two modules import each other in a circle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import lbbench

TOP = Path(lbbench.__file__).parent
TOWER = [  # from the top; rooms on one line stand beside each other and do not know each other
    ["__main__"],
    ["cli"],
    ["commands"],
    ["health"],
    ["report"],
    ["study", "integrations"],
    ["asktell"],
    ["records"],
    ["plan"],
    ["methods"],
    ["maximiser"],
    ["acquisition"],
    ["problems"],
    ["theory"],
    ["gp"],
    ["growth", "domain", "streams", "progress"],
    ["errors"],
]
FLOOR = {room: floor for floor, rooms in enumerate(reversed(TOWER)) for room in rooms}


def modules():
    """Each module of the package by its name, with what it imports of the package, wherever in the file."""
    paths = {name_of(path): path for path in TOP.rglob("*.py")}
    return {name: set(imported(path, paths)) - {name} for name, path in paths.items()}


def name_of(path):
    return ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__")


def imported(path, known):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name.removeprefix("lbbench.") for one in node.names if one.name.startswith("lbbench."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "lbbench":
            module = node.module.partition(".")[2]
            for one in node.names:
                full = f"{module}.{one.name}".lstrip(".")
                yield full if full in known else module


def room(module):
    return module.partition(".")[0]


def test_imports_go_down_the_tower():
    found = modules()
    assert {room(name) for name in found} - {"__init__"} == FLOOR.keys()
    upward = {
        f"{name} imports {other}"
        for name, others in found.items()
        for other in others
        if room(name) in FLOOR and room(other) in FLOOR and room(other) != room(name)
        if FLOOR[room(other)] >= FLOOR[room(name)]
    }
    assert not upward


def test_no_two_modules_import_each_other_in_a_circle():
    TopologicalSorter(modules()).prepare()  # which raises CycleError


def test_methods_share_what_is_shared_alone():
    shared = {"base", "told", "improvement", "lengthscales", "balancing"}
    others = {
        f"{name} imports {other}"
        for name, imports in modules().items()
        for other in imports
        if room(name) == "methods" == room(other) and other.partition(".")[2] not in {*shared, ""}
    }
    assert not others
