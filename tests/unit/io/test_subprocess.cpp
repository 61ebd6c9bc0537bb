// Other programs, run for what they print: waited for, and never longer than is needed.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "core/check.h"
#include "core/io/subprocess.h"
#include "tests/temporary_folder.h"

namespace locus::test::test_subprocess {

namespace {

namespace fs = std::filesystem;
using End = ProgramOutput::End;

ProgramOutput shell(const std::string& line, const CancelToken& stop = {}, double seconds = 20) {
    return run_subprocess("/bin/sh", {"-c", line}, stop, seconds);
}

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool runs(const std::string& process) { return fs::exists("/proc/" + process); }

/// "R", "S", ... as the system names it; "Z": it has ended and was not waited for.
std::string condition_of(const std::string& process) {
    std::ifstream file("/proc/" + process + "/stat");
    std::string id, name, condition;
    file >> id >> name >> condition;
    return condition;
}

void wait_until(const std::function<bool()>& true_now) {
    for (int n = 0; n < 1000 && !true_now(); ++n) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    REQUIRE(true_now());
}

std::string line_of(const fs::path& file) {
    std::string line;
    std::getline(std::ifstream(file) >> std::ws, line);
    return line;
}

}  // namespace

TEST_CASE("a program's two outputs and its status are kept apart", "[program]") {
    const ProgramOutput output = shell("echo right; echo wrong >&2; exit 3");
    CHECK(output.out == "right\n");
    CHECK(output.err == "wrong\n");
    CHECK(output.status == 3);
    CHECK(output.end == End::itself);
    CHECK_FALSE(output.succeeded());
    CHECK(shell("true").succeeded());
}

TEST_CASE("words reach a program as they are, no shell reads them", "[program]") {
    const std::string odd = "a b; rm -rf \"$HOME\" `date` $(date) '\n\xE2\x88\x92*";
    CHECK(run_subprocess("/usr/bin/printf", {"%s|%s", odd, ""}).out == odd + "|");
}

TEST_CASE("a program has no input, whatever this one could read", "[program]") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    REQUIRE(::write(ends[1], "not for you", 11) == 11);
    ::close(ends[1]);
    const int own = ::dup(STDIN_FILENO);
    ::dup2(ends[0], STDIN_FILENO);
    const ProgramOutput output = run_subprocess("/bin/cat", {}, {}, 20);
    if (own >= 0) ::dup2(own, STDIN_FILENO);
    if (own >= 0) ::close(own);
    ::close(ends[0]);
    CHECK(output.out.empty());
    CHECK(output.succeeded());
}

TEST_CASE("long outputs on both sides come whole", "[program]") {
    const ProgramOutput output = shell("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; printf end");
    CHECK(output.out.size() == 3000003);
    CHECK(output.err.size() == 2000000);
    CHECK(output.out.ends_with("end"));
}

TEST_CASE("what a program wrote just before it ended is read", "[program]") {
    const test::TemporaryFolder folder;
    const std::string told = folder / "told", go = folder / "go";
    bool held = false;
    // Between two readings: the program writes more than one of them takes, and ends.
    const CancelToken hold = [&] {
        if (held || line_of(told).empty()) return false;
        held = true;
        const std::string process = line_of(told);
        const int pipe = ::open(("/proc/" + process + "/fd/1").c_str(), O_WRONLY);
        REQUIRE(::fcntl(pipe, F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
        ::close(pipe);
        std::ofstream(go) << "go";
        wait_until([&] { return condition_of(process) == "Z"; });
        return false;
    };
    const ProgramOutput output = shell("echo $$ >'" + told + "'; while [ ! -e '" + go +
                                           "' ]; do sleep 0.01; done; head -c 500000 /dev/zero; echo last words >&2",
                                       hold);
    CHECK(held);
    CHECK(output.out.size() == 500000);
    CHECK(output.err == "last words\n");
    CHECK(output.succeeded());
}

TEST_CASE("a program that writes without end is stopped", "[program]") {
    const ProgramOutput output = shell("cat /dev/zero", {}, 120);
    CHECK(output.end == End::too_long);
    CHECK(output.out.size() > std::size_t{256} << 20);
    CHECK(output.out.size() < std::size_t{257} << 20);
    CHECK(output.error("locus-kit") == "locus-kit wrote more than 256 MiB and was stopped");
}

TEST_CASE("signals that this program ignores or holds back end another one all the same", "[program]") {
    sigset_t held, before;
    ::sigemptyset(&held);
    ::sigaddset(&held, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &held, &before);
    const ProgramOutput blocked = shell("kill -TERM $$; echo still here");
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    CHECK(blocked.status == 128 + SIGTERM);
    const auto usual = ::signal(SIGTERM, SIG_IGN);
    const ProgramOutput ignored = shell("kill -TERM $$; echo still here");
    ::signal(SIGTERM, usual);
    CHECK(ignored.status == 128 + SIGTERM);
}

TEST_CASE("a program that does not end is killed after its time, with what it had started", "[program]") {
    ProgramOutput output;
    CHECK(seconds_of([&] { output = shell("sleep 60 & echo $!; wait", {}, 0.3); }) < 10);
    CHECK(output.end == End::too_late);
    const std::string sleeper = output.out.substr(0, output.out.find('\n'));
    REQUIRE_FALSE(sleeper.empty());
    wait_until([&] { return !runs(sleeper) || condition_of(sleeper) == "Z"; });
}

TEST_CASE("a program that closed its outputs is still waited for", "[program]") {
    const ProgramOutput output = shell("exec >/dev/null 2>/dev/null; sleep 0.2; exit 5");
    CHECK(output.status == 5);
}

TEST_CASE("a child that a program leaves behind does not hold the answer back, and ends with it", "[program]") {
    ProgramOutput output;
    CHECK(seconds_of([&] { output = shell("sleep 60 & echo $!"); }) < 10);
    const std::string sleeper = output.out.substr(0, output.out.find('\n'));
    REQUIRE_FALSE(sleeper.empty());
    wait_until([&] { return !runs(sleeper) || condition_of(sleeper) == "Z"; });
    CHECK(output.succeeded());
}

TEST_CASE("a program can be stopped from another thread", "[program]") {
    std::atomic<bool> stop = false;
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        stop = true;
    });
    ProgramOutput output;
    CHECK(seconds_of([&] {
              output = shell(
                  "sleep 60", [&] { return stop.load(); }, 30);
          }) < 10);
    CHECK(stop);  // not before it was asked to
    later.join();
    CHECK(output.end == End::cancelled);
    CHECK(output.error("locus-kit") == "locus-kit was stopped");
    CHECK(shell("sleep 0.1; echo done", [] { return false; }).out == "done\n");
}

TEST_CASE("how a program failed is one sentence", "[program]") {
    CHECK(shell("true").error("locus-kit").empty());
    CHECK(shell("exit 4").error("locus-kit") == "locus-kit ended with status 4 and said nothing");
    CHECK(shell("echo ' ' >&2; exit 4").error("locus-kit") == "locus-kit ended with status 4 and said nothing");
    CHECK(shell("kill -SEGV $$").error("locus-kit") == "locus-kit was ended by signal 11 (Segmentation fault)");
    CHECK(shell("kill -SEGV $$").status == 128 + 11);
    CHECK(shell("echo a >&2; echo 'locus kit: no such mistake' >&2; exit 2").error("locus-kit") ==
          "locus kit: no such mistake");
    CHECK(shell("echo broken >&2; exit 2").error("locus-kit") == "locus-kit: broken");
    CHECK(shell("sleep 9", {}, 0.05).error("locus-kit") == "locus-kit took too long and was stopped");
}

TEST_CASE("a command line is read by the shell, its argument is one word", "[program]") {
    const ProgramOutput said = run_shell_command("printf 'a b'; printf %s", "it's", 10);
    CHECK(said.succeeded());
    CHECK(said.out == "a bit's");
    CHECK(run_shell_command("exit 7; :", "x", 10).status == 7);
    CHECK(run_shell_command("/nowhere/at/all", "x", 10).status == 127);
    CHECK(run_shell_command("cat; echo", "end", 10).out == "end\n");  // there is no input
    CHECK(run_shell_command("exec >&-; sleep 300; :", "x", 0.3).end == End::too_late);
    // What it started and left behind writes on: that is waited for.
    CHECK(run_shell_command("(sleep 0.3; echo late) & echo", "early", 10).out == "early\nlate\n");
}

TEST_CASE("programs stand beside the running one; a missing one is named with its folder", "[program]") {
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    CHECK(sibling_program("locus-kit") == here / "locus-kit");
    CHECK_THROWS_WITH(sibling_program("locus-nothing"),
                      "this needs the program locus-nothing, expected it beside this "
                      "one in " +
                          here.string() + ", where it is not");
    CHECK_THROWS_WITH(run_subprocess("/no/such/program", {}),
                      "/no/such/program: cannot be started (No such file or directory)");
}

TEST_CASE("two programs at once do not wait for each other's outputs", "[program]") {
    double quick = 99;
    std::thread slow([] { shell("sleep 2"); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    quick = seconds_of([] { shell("echo quick"); });
    CHECK(quick < 1.5);
    slow.join();
}

}  // namespace locus::test::test_subprocess
