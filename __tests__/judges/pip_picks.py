"""Which wheel pip picks: with its finder for any interpreter and platform, with `pip download` for this one."""

import contextlib
import io
import itertools
import json
import os
import sys
import tempfile

for name in [name for name in os.environ if name.startswith("PIP_")]:
    del os.environ[name]

import pip
from pip._internal.cli.main import main
from pip._internal.index.collector import LinkCollector
from pip._internal.index.package_finder import PackageFinder
from pip._internal.models.link import Link
from pip._internal.models.search_scope import SearchScope
from pip._internal.models.selection_prefs import SelectionPreferences
from pip._internal.models.target_python import TargetPython
from pip._internal.network.session import PipSession


def target(python):
    """None means the Python that runs this script."""
    if python is None:
        return TargetPython()
    return TargetPython(
        platforms=python["platforms"],
        py_version_info=tuple(python["version"]),
        abis=python["abis"],
        implementation=python["implementation"],
    )


def pick(finder, project, filenames):
    links = [Link(f"https://wheels.test/{filename.replace('+', '%2B')}") for filename in filenames]
    candidates = finder.evaluate_links(finder.make_link_evaluator(project), links)
    evaluator = finder.make_candidate_evaluator(project)
    best_first = reversed(evaluator.compute_best_candidate(candidates).applicable_candidates)
    groups = itertools.groupby(best_first, key=evaluator._sort_key)
    return {
        "installable": sorted(candidate.link.filename for candidate in candidates),
        # Which of several equally good wheels pip picks depends on the order of the folder listing.
        "order": [sorted(candidate.link.filename for candidate in equals) for _, equals in groups],
    }


def pick_for_others(python, project, sets):
    target_python = target(python)
    collector = LinkCollector(session=PipSession(), search_scope=SearchScope.create([], [], no_index=True))
    finder = PackageFinder.create(
        link_collector=collector,
        selection_prefs=SelectionPreferences(allow_yanked=True),
        target_python=target_python,
    )
    return {
        "tags": [str(tag) for tag in target_python.get_sorted_tags()],
        "picks": [pick(finder, project, filenames) for filenames in sets],
    }


def download(project, folder):
    with tempfile.TemporaryDirectory() as into:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = main(
                ["--isolated", "--quiet", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
                + ["download", "--no-deps", "--no-index", "--find-links", folder, "--dest", into, project]
            )
        files = os.listdir(into)
    return files[0] if status == 0 else None


question = json.load(sys.stdin)
json.dump(
    {
        "pip": pip.__version__,
        "others": [
            pick_for_others(python, question["project"], question["sets"]) for python in question["pythons"]
        ],
        "downloads": [download(question["project"], folder) for folder in question["folders"]],
    },
    sys.stdout,
)
