// A port that is a program may fail, hang or never stop writing; the kit says so and leaves nothing running.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/conformance/kit/dump.h"
#include "core/io/subprocess.h"
#include "tests/conformance/kit_fixture.h"

namespace locus::test::test_kit_process {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// True once the process in this file is gone; waits a little for the system to notice.
bool gone(const fs::path& file) {
    const pid_t id = std::stoi(read_file(file));
    for (int n = 0; n < 100; ++n) {
        if (::kill(id, 0) != 0) return true;
        // A process that nobody has waited for yet is dead, too.
        if (read_file("/proc/" + std::to_string(id) + "/stat").find(") Z ") != std::string::npos) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ::kill(id, SIGKILL);
    return false;
}

/// A script that leaves its own id and that of a program it starts, and sleeps.
std::string sleeper(const TemporaryFolder& folder) {
    write_file(folder / "port.sh", "echo $$ > '" + (folder / "shell").string() + "'\nsleep 300 & echo $! > '" +
                                       (folder / "child").string() + "'\nwait\n");
    return "sh " + (folder / "port.sh").string();
}

}  // namespace

TEST_CASE("kit process: what a program prints and how it ends", "[kit]") {
    const ProgramOutput said = run_shell_command("printf 'a b'; printf %s", "it's", 10);
    CHECK(said.end == ProgramOutput::End::itself);
    CHECK(said.status == 0);
    CHECK(said.out == "a bit's");
    CHECK(run_shell_command("exit 7; :", "x", 10).status == 7);
    CHECK(run_shell_command("kill -9 $$; :", "x", 10).status == 128 + 9);
    CHECK(run_shell_command("/nowhere/at/all", "x", 10).status == 127);
    // There is nobody at the keyboard: a program that reads its input finds it at its end.
    CHECK(run_shell_command("cat; echo", "end", 10).out == "end\n");
    // More than a pipe holds.
    CHECK(run_shell_command("head -c 3000000 /dev/zero; :", "x", 10).out.size() == 3000000);
}

TEST_CASE("kit process: a program that hangs is killed, with what it has started", "[kit]") {
    const TemporaryFolder folder;
    const auto start = Clock::now();
    CHECK(run_shell_command(sleeper(folder), "x", 0.5).end == ProgramOutput::End::too_late);
    CHECK(seconds_since(start) < 10);
    CHECK(gone(folder / "shell"));
    CHECK(gone(folder / "child"));
    // One that has closed its output and goes on is none that has ended.
    const auto again = Clock::now();
    CHECK(run_shell_command("exec >&-; sleep 300; :", "x", 0.3).end == ProgramOutput::End::too_late);
    CHECK(seconds_since(again) < 10);
    CHECK(run_shell_command("yes", "x", 60).end == ProgramOutput::End::too_long);
}

TEST_CASE("kit check: a port that hangs is one sentence, and no other case is tried", "[kit]") {
    const TemporaryFolder folder;
    const std::string port = sleeper(folder);
    const KitCase& first = KitFixture::kit().cases.front();
    const auto start = Clock::now();
    const Outcome outcome =
        run("locus-kit", {"check", KitFixture::kit().folder.string(), "--run", port, "--timeout", "0.5", "--json"});
    INFO(outcome.err);
    CHECK(seconds_since(start) < 20);
    CHECK(outcome.status == 3);
    CHECK(outcome.sentences() == 1);
    for (const std::string& part : {port, first.id, std::string("within 0.5 seconds"), std::string("--timeout")})
        CHECK(outcome.err.find(part) != std::string::npos);
    CHECK(outcome.out.empty());
    CHECK(gone(folder / "shell"));
    CHECK(gone(folder / "child"));

    // One that has answered may hang in one case: that case fails, and the others are judged.
    const KitCase& second = KitFixture::kit().cases[1];
    const std::string once = "case $LOCUS in *" + second.id + ") sleep 300;; *) exit 1;; esac";
    const Outcome later = run("locus-kit", {"check", KitFixture::kit().folder.string(), "--run",
                                            "f() { LOCUS=$1; " + once + "; }; f", "--timeout", "0.5"});
    INFO(later.err);
    CHECK(later.out.find(second.id + "  FAIL") != std::string::npos);
    CHECK(later.out.find("within 0.5 seconds") != std::string::npos);
    CHECK(later.out.find("more: " + KitFixture::kit().cases[2].id) != std::string::npos);

    for (const char* wrong : {"0", "-1", "nan", "soon", "1e300"})
        CHECK(run("locus-kit", {"check", "kit", "--run", ":", "--timeout", wrong}).status == 2);
    CHECK(run("locus-kit", {"check", "--help"}).out.find("--timeout SECONDS=60") != std::string::npos);
}

TEST_CASE("kit check: interrupted, it takes the port with it", "[kit]") {
    const TemporaryFolder folder;
    const std::string port = sleeper(folder), kit = (fs::path(LOCUS_BINARY_DIR) / "bin/locus-kit").string();
    const Outcome outcome =
        run_file("/bin/sh", {"-c", quoted(kit) + " check " + quoted(KitFixture::kit().folder.string()) + " --run " +
                                       quoted(port) + " & kit=$!; while ! [ -s " + quoted((folder / "child").string()) +
                                       " ]; do sleep 0.05; done; kill -TERM $kit; wait $kit"});
    CHECK(outcome.status == 128 + SIGTERM);
    CHECK(gone(folder / "shell"));
    CHECK(gone(folder / "child"));
}

}  // namespace locus::test::test_kit_process
