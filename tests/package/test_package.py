"""What `./locus package` makes, as somebody meets it who has never seen the source: libraries that a stranger's project
finds, and a Debian package that is installed into an empty Debian, used, and removed without a trace.

    ./locus test package [NAME_OF_A_TEST]...
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/package"
MIRROR = "http://deb.debian.org/debian"


def run(*command, **options):
    """The finished command; a status other than 0 is a failure that shows what it printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def package():
    """The newest package that stands in build/package."""
    return max(BUILD.glob("locus_*.deb"), key=lambda file: file.stat().st_mtime)


class InstalledLibraries(unittest.TestCase):
    """Component dev of `cmake --install`, in a folder that has nothing else of Locus."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="locus installed ")
        cls.prefix = Path(cls.folder.name) / "usr"
        run("cmake", "--install", BUILD, "--component", "dev", "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def pkg_config(self, *arguments):
        [found] = self.prefix.glob("lib/**/pkgconfig")
        text = run("pkg-config", *arguments, "locus", env={**os.environ, "PKG_CONFIG_PATH": str(found)})
        # Blanks of a folder's name come with a backslash.
        return [part.replace("\0", " ") for part in text.replace("\\ ", "\0").split()]

    def check_answer(self, program):
        lines = run(program).splitlines()
        self.assertEqual(4, len(lines))
        self.assertGreaterEqual(int(lines[3].split()[0]), 100, lines[3])

    def test_a_project_finds_them_by_cmake(self):
        build = Path(self.folder.name) / "consumer"
        run("cmake", "-S", ROOT / "tests/package/consumer", "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", build)
        self.check_answer(build / "consumer")

    def test_another_version_is_refused_by_cmake(self):
        source = Path(self.folder.name) / "too new"
        shutil.copytree(ROOT / "tests/package/consumer", source)
        lists = source / "CMakeLists.txt"
        lists.write_text(lists.read_text().replace("locus 0.1", "locus 99.0"))
        with self.assertRaisesRegex(AssertionError, "99.0"):
            run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def test_a_project_finds_them_by_pkg_config(self):
        program = Path(self.folder.name) / "by pkg-config"
        run("c++", "-std=c++20", "-O1", ROOT / "tests/package/consumer/main.cpp", "-o", program, *self.pkg_config("--cflags"),
            *self.pkg_config("--libs"))
        self.check_answer(program)

    def test_every_header_compiles_alone(self):
        include = self.prefix / "include/locus"
        headers = sorted(include.rglob("*.h"))
        self.assertGreater(len(headers), 100)
        flags = self.pkg_config("--cflags")

        def fault(header):
            # As every project includes it, from a file that has nothing above it.
            done = subprocess.run(["c++", "-std=c++20", "-fsyntax-only", "-x", "c++", *flags, "-"], text=True, capture_output=True,
                                  input=f'#include "{header.relative_to(include)}"\nint main() {{}}\n')
            return f"{header.relative_to(include)}: {done.stderr.splitlines()[0]}" if done.returncode else None

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            self.assertEqual([], [found for found in threads.map(fault, headers) if found])


class DebianPackage(unittest.TestCase):
    def test_lintian_finds_no_error(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        run("lintian", "--fail-on", "error", package())

    def test_every_program_has_a_page_of_the_manual(self):
        names = run("dpkg-deb", "--contents", package())
        for program in sorted((BUILD / "bin").glob("locus-*")):
            self.assertIn(f"man1/{program.name}.1.gz", names)
        for shell in ("completions/locus", "vendor-completions/_locus", "vendor_completions.d/locus.fish"):
            self.assertIn(shell, names)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("debootstrap"), "an empty Debian takes root and debootstrap")
@unittest.skipIf(len(str(ROOT).split()) > 1, "debootstrap takes no folder whose path has a space")
class EmptyDebian(unittest.TestCase):
    """A folder with the smallest Debian, kept under build/ from one run to the next without the package."""

    SYSTEM = ROOT / "build/package-debian"

    @classmethod
    def setUpClass(cls):
        # The base is unpacked once; what a broken start left is thrown away.
        base = cls.SYSTEM.with_suffix(".tar")
        if not base.exists():
            shutil.rmtree(cls.SYSTEM, ignore_errors=True)
            run("debootstrap", "--variant=minbase", "bookworm", cls.SYSTEM, MIRROR)
            run("tar", "--create", "--file", f"{base}.part", "--directory", cls.SYSTEM, ".")
            os.rename(f"{base}.part", base)
        shutil.rmtree(cls.SYSTEM, ignore_errors=True)
        cls.SYSTEM.mkdir(parents=True)
        run("tar", "--extract", "--file", base, "--directory", cls.SYSTEM)
        for file in ("/etc/resolv.conf", "/etc/hosts"):  # the network of this machine
            shutil.copy(file, str(cls.SYSTEM) + file)
        for file in Path("/etc/apt/apt.conf.d").glob("*proxy*"):
            shutil.copy(file, cls.SYSTEM / "etc/apt/apt.conf.d")
        (cls.SYSTEM / "proc/self").mkdir(parents=True, exist_ok=True)
        cls.before = cls.files()
        shutil.copy(package(), cls.SYSTEM / "tmp/locus.deb")
        cls.inside("apt-get update -q && apt-get install -y -q --no-install-recommends /tmp/locus.deb xvfb xauth")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.SYSTEM, ignore_errors=True)

    @classmethod
    def inside(cls, command):
        """What a command of the shell prints there; it has its own /proc, which programs find themselves by."""
        return run("unshare", "--mount", "--pid", "--fork", "--mount-proc=" + str(cls.SYSTEM / "proc"), "chroot", cls.SYSTEM,
                   "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8",
                   "DEBIAN_FRONTEND=noninteractive", "sh", "-c", command)

    @classmethod
    def files(cls):
        return {str(path.relative_to(cls.SYSTEM)) for path in (cls.SYSTEM / "usr").rglob("*")}

    def test_1_programs_find_what_they_read(self):
        self.assertIn("locus view", self.inside("locus"))
        filled = json.loads(self.inside("locus fill 'a new [MASK] opened' --json"))
        self.assertTrue(filled)
        trace = self.inside("cd /tmp && locus trace --model tiny-v3 --text 'a new [MASK] opened' --out trace.safetensors && locus check "
                            "trace.safetensors trace.safetensors")
        self.assertIn("pass", trace.lower())

    def test_2_the_viewer_draws_its_first_page(self):
        self.inside("cd /tmp && xvfb-run -a locus view --page attention --size 1280x800 --screenshot page.png")
        picture = (self.SYSTEM / "tmp/page.png").read_bytes()
        self.assertEqual(b"\x89PNG", picture[:4])
        self.assertGreater(len(picture), 50_000, "a page with a matrix and text")

    def test_3_the_manual_is_there(self):
        self.assertIn("locus", self.inside("zcat /usr/share/man/man1/locus.1.gz").lower())

    def test_9_it_goes_without_a_trace(self):
        self.inside("apt-get purge -y -q locus")
        left = {name for name in self.files() - self.before if "locus" in name.lower()}
        self.assertEqual(set(), left)


if __name__ == "__main__":
    unittest.main(verbosity=2)
