"""An ordinary user in a container: a package that is read-only, no home, no place for a cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import kng

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can become another user"
)

PROGRAM = Path(__file__).with_name("confined.py")
NOBODY = 65534
# Whom no list of users knows, as where a container is started with a number.
UNKNOWN = 4_000_000

TABLE = ("--bounds", "a=-1:1", "--bounds", "b=-1:1")
LINE = ("--target", "b", "--covariates", "a", *TABLE)
COMMANDS = {
    "mean": ("mean", *TABLE),
    "median": ("median", "--bounds", "a=-1:1"),
    "geomedian": ("geomedian", *TABLE),
    "linear": ("linear", *LINE),
    "huber": ("huber", *LINE, "--threshold", "0.5"),
    "quantreg": ("quantreg", *LINE),
}


@pytest.fixture(scope="module")
def package():
    """A copy of the package that is root's and has no compiled code beside it."""
    for user in (NOBODY, UNKNOWN):
        probe = f"import confined; confined.become({user}); import wave"
        done = subprocess.run(
            [sys.executable, "-c", probe], cwd=PROGRAM.parent, capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"user {user} is not to be had here, or cannot read the interpreter")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(kng.__file__).parent
        shutil.copytree(source, Path(folder) / "kng", ignore=shutil.ignore_patterns("__pycache__"))
        Path(folder).chmod(0o755)
        yield folder


def confined(package, user, *names):
    """Run commands, each with a ledger of its own; return their outcomes and what they spent."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_text("a,b\n" + "0.5,0.25\n-0.5,-0.25\n" * 200)
        commands = []
        for name in names:
            kng.Ledger(f"{folder}/{name}.ledger", cap=2)
            word, *options = COMMANDS[name]
            ending = ("--epsilon", "1", "--ledger", f"{name}.ledger")
            commands.append([word, "t.csv", *options, *ending])
        for path in (folder, *Path(folder).iterdir()):
            os.chown(path, user, user)
        done = subprocess.run(
            [sys.executable, str(PROGRAM), package, folder, str(user)],
            input="\n".join(map(json.dumps, commands)) + "\n",
            capture_output=True,
            text=True,
            check=True,
        )
        outcomes = [json.loads(line) for line in done.stdout.splitlines()]
        spent = {name: kng.Ledger(f"{folder}/{name}.ledger").spent for name in names}
        return dict(zip(names, outcomes, strict=True)), spent, sorted(os.listdir(folder))


@pytest.mark.every(3)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_and_is_charged_once(package, name):
    """In e301d72 linear and huber ended with exit code 70, after the charge."""
    outcomes, spent, _ = confined(package, NOBODY, name)
    assert outcomes[name]["code"] == 0, outcomes
    assert spent == {name: 1}
    assert outcomes[name]["err"].count("kng is compiling") == 1
    assert "Set NUMBA_CACHE_DIR" in outcomes[name]["err"]
    assert not list(Path(package).rglob("__pycache__"))


def test_a_user_without_a_name_gets_no_home(package):
    """Numba would put its cache into a folder called ~ where the program was started."""
    outcomes, spent, left = confined(package, UNKNOWN, "mean")
    assert (outcomes["mean"]["code"], spent["mean"]) == (0, 1)
    assert "~" not in left


# --- the conditions of the Dockerfile: nothing of one's own can be written ------------------------


def read_only(package, *commands):
    """Run commands where the working directory is another's too."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_text("a,b\n" + "0.5,0.25\n-0.5,-0.25\n" * 200)
        Path(folder).chmod(0o755)
        done = subprocess.run(
            [sys.executable, str(PROGRAM), package, folder, str(UNKNOWN)],
            input="\n".join(map(json.dumps, commands)) + "\n",
            capture_output=True,
            text=True,
            check=True,
        )
        assert sorted(os.listdir(folder)) == ["t.csv"]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_plain_release_needs_no_place_to_write(package):
    words = ["median", "t.csv", "--bounds", "a=-1:1", "--epsilon", "1"]
    plain, kept = read_only(package, words, [*words, "--out", "receipt.json"])
    assert (plain["code"], plain["out"].startswith("median")) == (0, True), plain
    assert (kept["code"], kept["out"]) == (2, "")
    assert "--out receipt.json cannot be written (Permission denied)" in kept["err"]


def test_the_demo_needs_a_temporary_directory_only(package):
    (demo,) = read_only(package, ["demo"])
    assert demo["code"] == 0, demo["err"]


def test_the_demo_says_so_where_there_is_none(run, monkeypatch):
    def full(**_):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    outcome = run("demo")
    assert outcome.code == 2
    assert "Set TMPDIR to one; in a container, mount one: --tmpfs /tmp." in outcome.err


def test_the_dockerfile_is_for_an_ordinary_user():
    lines = (Path(__file__).parents[2] / "Dockerfile").read_text().splitlines()
    stages = [line for line in lines if line.startswith("FROM ")]
    assert stages == ["FROM python:3.12-slim AS build", "FROM python:3.12-slim"]
    user = lines.index("USER 10001:10001")
    assert user > lines.index(stages[1])
    assert not any(line.startswith(("RUN", "COPY", "ADD")) for line in lines[user:])


# The file system of  docker run --read-only --tmpfs /tmp --network none -v DATA:/data  : everything
# is read-only but a mount for data and a small one, from which nothing can be executed.
_BOX = """
set -e
mount --make-rprivate /
for place in $(awk '{print $2}' /proc/mounts | grep -vE '^/(proc|sys|dev)'); do
  mount -o remount,ro,bind "$place" 2>/dev/null || true
done
mount -t tmpfs -o noexec,nosuid,nodev,mode=1777 tmpfs "$2"
mount --bind "$1" "$1"
mount -o remount,rw,bind "$1"
cd "$1"
shift 2
exec setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs \\
  --inh-caps=-all,+dac_read_search --ambient-caps=-all,+dac_read_search "$@"
"""


def boxed(data, temporary, package, *words):
    """Run a command of kng, or of Python, as the image would."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": package, "TMPDIR": str(temporary)}
    for name, value in docker_environment().items():
        environment[name] = value.replace("/tmp/", f"{temporary}/")
    command = ["sh", "-c", _BOX, "box", str(data), str(temporary), sys.executable, *words]
    return subprocess.run(
        ["unshare", "--mount", "--net", *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def docker_environment():
    """Return what the Dockerfile sets, without the path."""
    text = (Path(__file__).parents[2] / "Dockerfile").read_text().replace("\\\n", " ")
    line = next(line for line in text.splitlines() if line.startswith("ENV "))
    pairs = dict(word.split("=", 1) for word in line.split()[1:])
    assert pairs.pop("PATH").startswith("/opt/kng/bin:")
    assert pairs["NUMBA_CACHE_DIR"].startswith("/tmp/")
    return pairs


def test_the_image_s_conditions_on_a_read_only_root(package):
    with tempfile.TemporaryDirectory() as data, tempfile.TemporaryDirectory() as temporary:
        Path(data, "t.csv").write_text("a,b\n" + "0.5,0.25\n-0.5,-0.25\n" * 200)
        for path in (data, *Path(data).iterdir()):
            os.chown(path, 10001, 10001)
        for path in (data, temporary):
            Path(path).chmod(0o755)
        probe = "import os; assert os.getuid() == 10001; open('w', 'w'); os.unlink('w')"
        can = boxed(data, temporary, package, "-c", probe)
        if can.returncode:
            pytest.skip(f"no mounts of one's own here: {can.stderr[-80:]}")
        # /tmp is anybody's, and yet read-only here.
        outside = boxed(data, temporary, package, "-c", "open('/tmp/kng-probe', 'w')")
        assert "Read-only file system" in outside.stderr
        kng_words = ("-m", "kng.cli.main")
        charged = ("--epsilon", "1", "--ledger", "b.ledger")
        for words in (
            ("budget", "create", "b.ledger", "--epsilon", "2"),
            ("median", "t.csv", "--bounds", "a=-1:1", *charged, "--out", "median.html"),
            ("demo", "--out", "demo.html"),
        ):
            done = boxed(data, temporary, package, *kng_words, *words)
            assert done.returncode == 0, done.stderr
            assert "Set NUMBA_CACHE_DIR" not in done.stderr  # compiled code is kept in the tmpfs
        assert kng.Ledger(f"{data}/b.ledger").spent == 1
        assert {"median.html", "demo.html"} < set(os.listdir(data))
        assert os.listdir(temporary) == []
