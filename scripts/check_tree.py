#!/usr/bin/env python3
"""Checks the rules of the tree that a compiler does not check.

  scripts/check_tree.py [folder]     checks the checkout, or that folder
  scripts/check_tree.py --self-test  checks that a violation of each rule is found

The rules: a layer includes only what is below it; public headers include only the standard library
and each other; foreign headers stay where they belong; a public header has at most 200 lines.
"""

import os
import re
import subprocess
import sys
import tempfile

# Layer -> the layers that it may see, itself included.
BELOW_NN = {"core", "comm"}
VISIBLE = {
    "core": {"core"},
    "comm": {"core", "comm"},
    "nn": BELOW_NN | {"nn"},
    "optim": BELOW_NN | {"optim"},
    "data": BELOW_NN | {"data"},
    "parallel": BELOW_NN | {"nn", "optim", "data", "parallel"},
    "checkpoint": BELOW_NN | {"nn", "optim", "data", "parallel", "checkpoint"},
    "observe": BELOW_NN | {"nn", "optim", "data", "parallel", "observe"},
    "interop": BELOW_NN | {"interop"},
    "backend": {"core", "backend"},
}
IMPLEMENTATIONS = ("backend/cpu", "backend/cuda", "comm/mpi", "comm/nccl")
# Folder -> the foreign headers that its files may include.
FOREIGN = {
    "include/lockstep/interop": r"mpi\.h|cuda_runtime(_api)?\.h|torch/.*",
    "src/backend/cpu": r"Eigen/.*|(mkl_)?cblas\.h|(mkl|openblas_config)\.h|.*intrin\.h|"
                       r"sanitizer/.*\.h",
    "src/backend/cuda": r"cuda.*|cublas.*",
    "src/comm/mpi": r"mpi\.h",
    "src/comm/nccl": r"nccl\.h|mpi\.h|cuda_runtime(_api)?\.h",
    "src/data": r"zlib\.h",
    "src/checkpoint": r"nlohmann/.*|xxhash\.h",
    "src/observe": r"nlohmann/.*|prometheus/.*|nvtx3/.*",
    "kernels": r"cuda.*",
}
# Headers that device code shares with the CPU, so that the bits agree. They include only each other.
SHARED_WITH_KERNELS = {f"src/core/{name}.hpp" for name in (
    "loss_functions", "pair_loss", "philox", "portable_math", "portable_normal", "portable_power",
    "unary_functions", "unary_operation")}
SYSTEM = (r"(sys|netinet|arpa|linux|net)/.*\.h|"
          r"(unistd|fcntl|signal|poll|sched|pthread|dlfcn|netdb|stdlib|string|time|errno)\.h")
TOO_HEAVY = {"format", "ranges", "iostream", "filesystem", "thread"}
STANDARD = re.compile(r"[a-z_0-9]+")
INCLUDE = re.compile(r'^\s*#\s*include\s*(<([^>]+)>|"([^"]+)")', re.MULTILINE)
CODE = (".hpp", ".cpp", ".cu", ".cuh")
# Built from two parts, because the rule holds for this file too.
STAND_IN = "emul" + "ation"
STAND_IN_PLACES = ("tests/", "cmake/", "CMakePresets.json")
MAXIMUM_HEADER_LINES = 200


def files_of(root):
    """Paths of the files of the checkout; of all files where there is no git."""
    try:
        git = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, check=True)
        paths = git.stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        paths = []
    if not any(paths):
        paths = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, names in os.walk(root) for name in names]
        paths = [path for path in paths if not path.startswith(("build/", ".git/"))]
    return sorted(path for path in set(paths) if path and os.path.isfile(os.path.join(root, path)))


def includes_of(text):
    """(line number, name, whether in quotes) of each include."""
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[2] or match[3], match[3] is not None


def layer_of(path):
    """The layer of a file under include/lockstep or src, or None."""
    match = re.match(r"(?:include/lockstep|src)/([a-z]+)/", path)
    return match[1] if match else None


def resolve(root, path, name, quoted):
    """The included file's path in the tree, or None if it is a foreign one."""
    places = [os.path.dirname(path)] if quoted else []
    for place in places + ["include", "src", "."]:
        candidate = os.path.normpath(os.path.join(place, name))
        if os.path.isfile(os.path.join(root, candidate)):
            return candidate
    if name.startswith("lockstep/"):
        return "include/" + name
    if re.match(r"(backend|comm|core|nn|optim|data|parallel|checkpoint|observe)/", name):
        return "src/" + name
    return None


def foreign_problem(path, name):
    """What is wrong with including a header from outside the tree; None if nothing is."""
    if STANDARD.fullmatch(name):
        if path.startswith("include/") and name in TOO_HEAVY:
            return f"public headers do without <{name}>"
        return None
    if not path.startswith(("include/", "src/", "kernels/")):
        return None
    allowed = [pattern for folder, pattern in FOREIGN.items() if path.startswith(folder + "/")]
    if path.startswith("src/"):
        allowed.append(SYSTEM)
    if any(re.fullmatch(pattern, name) for pattern in allowed):
        return None
    return f"<{name}> does not belong here"


def own_problem(path, target):
    """What is wrong with including a file of the tree; None if nothing is."""
    if path.startswith("kernels/"):
        if target.startswith("kernels/") or target in SHARED_WITH_KERNELS:
            return None
        return "kernels see only CUDA, kernels/ and what core shares with them"
    if path in SHARED_WITH_KERNELS:
        if target in SHARED_WITH_KERNELS:
            return None
        return "device code reads this file, so it includes nothing else of ours"
    if path.startswith(("examples/", "bench/", "tests/contract/")):
        return "only include/lockstep may be used here" if target.startswith("src/") else None
    if path.startswith("tests/"):
        return None
    if path.startswith("include/") and not target.startswith("include/"):
        return "a public header includes a private one"
    for folder in IMPLEMENTATIONS:
        if target.startswith(f"src/{folder}/") and not path.startswith(f"src/{folder}/"):
            return f"{folder} is an implementation, known to itself only"
    if target.startswith("kernels/") and not path.startswith("src/backend/cuda/"):
        return "kernels are known to src/backend/cuda only"

    layer, target_layer = layer_of(path), layer_of(target)
    if layer is None or target_layer is None or target_layer in VISIBLE[layer]:
        return None
    if target_layer == "backend":
        return None  # the seam, below all layers; its implementations were refused above
    return f"{layer} must not see {target_layer}"


def problems_of(root):
    """One line per violation."""
    found = []
    for path in files_of(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        if STAND_IN in text.lower() and not path.startswith(STAND_IN_PLACES):
            found.append(f'{path}: the word "{STAND_IN}" belongs in tests/, cmake/ and the presets')
        if path.startswith("include/") and text.count("\n") > MAXIMUM_HEADER_LINES:
            found.append(f"{path}: more than {MAXIMUM_HEADER_LINES} lines")
        if not path.endswith(CODE):
            continue
        for line, name, quoted in includes_of(text):
            target = resolve(root, path, name, quoted)
            problem = own_problem(path, target) if target else foreign_problem(path, name)
            if problem:
                found.append(f"{path}:{line}: {problem}")
    return found


SELF_TEST = {
    "include/lockstep/core/a.hpp": ("#include <lockstep/comm/b.hpp>\n", "core must not see comm"),
    "include/lockstep/core/b.hpp": ("#include <iostream>\n", "do without <iostream>"),
    "include/lockstep/core/c.hpp": ("#include <mpi.h>\n", "<mpi.h> does not belong"),
    "include/lockstep/core/d.hpp": ('#include "core/e.hpp"\n', "includes a private one"),
    "include/lockstep/core/long.hpp": ("\n" * 201, "more than 200 lines"),
    "src/nn/a.cpp": ("#include <lockstep/optim/adam.hpp>\n", "nn must not see optim"),
    "src/backend/a.cpp": ("#include <lockstep/comm/run.hpp>\n", "backend must not see comm"),
    "src/core/a.cpp": ('#include "backend/cpu/gemm.hpp"\n', "known to itself only"),
    "src/core/b.cpp": ("#include <Eigen/Core>\n", "<Eigen/Core> does not belong"),
    "src/comm/a.cpp": ('#include "comm/mpi/world.hpp"\n', "known to itself only"),
    "kernels/a.cu": ("#include <lockstep/core/shape.hpp>\n", "kernels see only"),
    "kernels/b.cu": ('#include "core/tape.hpp"\n', "kernels see only"),
    "src/core/philox.hpp": ('#include "core/e.hpp"\n', "includes nothing else of ours"),
    "examples/a.cpp": ('#include "../src/core/e.hpp"\n', "only include/lockstep"),
    "README.md": (STAND_IN + "\n", "belongs in tests/"),
}
SELF_TEST_GOOD = {
    "src/core/e.hpp": "#include <vector>\n",
    "src/core/good.cpp": '#include "backend/gemm.hpp"\n#include "core/e.hpp"\n#include "e.hpp"\n',
    "src/backend/cpu/good.cpp": "#include <Eigen/Core>\n#include <lockstep/core/dtype.hpp>\n",
    "src/parallel/good.cpp": "#include <lockstep/optim/adam.hpp>\n#include <unistd.h>\n",
    "include/lockstep/interop/mpi.hpp": "#include <mpi.h>\n#include <lockstep/comm/run.hpp>\n",
    "tests/good.cpp": "// " + STAND_IN + '\n#include "core/e.hpp"\n',
    "src/core/portable_math.hpp": '#include "core/philox.hpp"\n',
    "kernels/good.cu": '#include <cuda_runtime.h>\n#include "core/philox.hpp"\n',
    "examples/good.cpp": "#include <CLI/CLI.hpp>\n#include <lockstep/lockstep.hpp>\n",
}


def self_test():
    """Writes a small tree with one violation of each rule; all must be found, and no other."""
    with tempfile.TemporaryDirectory() as root:
        texts = {path: text for path, (text, _) in SELF_TEST.items()} | SELF_TEST_GOOD
        for path, text in texts.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        found = problems_of(root)
    missed = [path for path, (_, message) in SELF_TEST.items()
              if not any(line.startswith(path + ":") and message in line for line in found)]
    wrong = [line for line in found if line.split(":")[0] not in SELF_TEST]
    for path in missed:
        print(f"check_tree: the violation in {path} was not found")
    for line in wrong:
        print(f"check_tree: wrongly found {line}")
    return not missed and not wrong


def main():
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if sys.argv[1:2] == ["--self-test"]:
        return 0 if self_test() else 1
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = problems_of(sys.argv[1] if len(sys.argv) > 1 else here)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
