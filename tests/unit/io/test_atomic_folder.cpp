// Tensors and folders on disk: there as a whole, or as they were.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "core/io/atomic_folder.h"
#include "core/io/safetensors.h"
#include "core/io/write_target.h"
#include "tests/files.h"

namespace locus::test::test_atomic_folder {

using Catch::Matchers::Contains;

namespace {

std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
    return names;
}

using Names = std::set<std::string>;

const std::vector<FolderFile> kOld = {folder_file("a.txt", "old a"), folder_file("b.txt", "old b")};
const std::vector<FolderFile> kNew = {folder_file("a.txt", "new a"), folder_file("c.txt", "new c")};

/// A child process that does this and ends; its exit status.
template <class Call>
int status_of_child(Call call) {
    const ::pid_t child = ::fork();
    if (child == 0) {
        call();
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/// The sentence of a call whose files may not grow beyond so many bytes.
template <class Call>
std::string sentence_on_full_disk(rlim_t bytes, Call call) {
    const auto previous = ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
    rlimit small = limit;
    small.rlim_cur = bytes;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::string sentence;
    int exit_status = 0;
    try {
        call();
    } catch (const Error& error) {
        sentence = error.what();
        exit_status = error.exit_status();
    }
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
    ::signal(SIGXFSZ, previous);
    CHECK(exit_status == 3);
    return sentence;
}

}  // namespace

TEST_CASE("write_safetensors: what is written is read back, names, shapes, values and metadata", "[safetensors]") {
    const TemporaryFolder folder;
    const std::vector<float> a = {1, -2.5f, 3e-8f, std::numeric_limits<float>::infinity(), 0, 65504}, b = {0.1f};
    write_safetensors(
        folder / "x.safetensors",
        {{"a", {2, 3}, a.data()}, {"half", {6}, a.data(), Dtype::f16}, {"b", {}, b.data()}, {"none", {0, 4}, a.data()}},
        {{"format", "pt"}, {"note", "\u00fc \"x\""}});
    const TensorFile file = open_safetensors(folder / "x.safetensors");
    REQUIRE(file.entries.size() == 4);
    CHECK(file.metadata ==
          std::vector<std::pair<std::string, std::string>>{{"format", "pt"}, {"note", "\u00fc \"x\""}});
    CHECK(file.find("a")->shape == Shape{2, 3});
    CHECK(file.find("a")->offset % 8 == 0);
    CHECK(read_tensor<float>(*file.find("a")).values() == a);
    CHECK(read_tensor<float>(*file.find("b")).values() == b);
    CHECK(file.find("none")->shape == Shape{0, 4});
    const std::vector<float> half = {1, -2.5f, 5.9604645e-08f, std::numeric_limits<float>::infinity(), 0, 65504};
    CHECK(file.find("half")->dtype == Dtype::f16);
    CHECK(read_tensor<float>(*file.find("half")).values() == half);
    CHECK(folder.count() == 1);
}

TEST_CASE("write_safetensors: values begin on a multiple of 8 after every header", "[safetensors]") {
    const TemporaryFolder folder;
    const float value = 1;
    for (std::size_t length = 1; length <= 8; ++length) {
        write_safetensors(folder / "x.safetensors", {{std::string(length, 'n'), {1}, &value}});
        CHECK(open_safetensors(folder / "x.safetensors").entries.front().offset % 8 == 0);
    }
}

TEST_CASE("write_safetensors: what cannot be stored is named, and nothing is left", "[safetensors][bad]") {
    const TemporaryFolder folder;
    const std::vector<float> values = {1, 70000};
    const auto sentence = [&](std::vector<TensorToWrite> tensors, Fault fault) {
        return refusal([&] { write_safetensors(folder / "x.safetensors", tensors); }, fault);
    };
    CHECK(sentence({{"a", {2}, values.data()}, {"a", {1}, values.data()}}, Fault::usage) ==
          "tensor a was to be written twice into one file");
    CHECK(sentence({{"a", {2}, values.data(), Dtype::f16}}, Fault::unsupported) ==
          "tensor a holds 70000.000000, too large for F16; write it as F32");
    CHECK(sentence({{"a", {2}, values.data(), Dtype::i64}}, Fault::unsupported) ==
          "tensor a was to be written as I64, expected F32 or F16");
    CHECK_THAT(sentence({{"\xff", {2}, values.data()}}, Fault::usage), Contains("is not UTF-8"));
    CHECK(folder.count() == 0);
}

TEST_CASE("what is written is no file that is read, by whatever name, and none twice", "[files][bad]") {
    const TemporaryFolder folder;
    const std::string in = write_bytes(folder / "in", "precious").string(), out = (folder / "out").string();
    fs::create_symlink(in, folder / "link");
    fs::create_hard_link(in, folder / "hard");
    CHECK_NOTHROW(check_apart({out, ""}, {in, ""}));
    CHECK_NOTHROW(check_apart({"", ""}, {in}));
    for (const std::string& name : {in, (folder / "link").string(), (folder / "hard").string(),
                                    folder.path().string() + "/./in", folder.path().string() + "//in"})
        CHECK(refusal(
                  [&] {
                      check_apart({out, name}, {"", in});
                  },
                  Fault::usage) == name + ": is read as " + in + ", expected another file to write to");
    const std::string again = folder.path().string() + "/none/../out";  // neither is there yet
    CHECK(refusal(
              [&] {
                  check_apart({out, again}, {in});
              },
              Fault::usage) == again + ": is to be written twice, expected two files");
}

TEST_CASE("whole folder: a new one, with the folders above it", "[folder]") {
    const TemporaryFolder folder;
    write_atomic_folder(folder / "x/y/model", kOld);
    CHECK(names_in(folder / "x/y") == Names{"model"});
    CHECK(names_in(folder / "x/y/model") == Names{"a.txt", "b.txt"});
    CHECK(read_bytes(folder / "x/y/model/a.txt") == "old a");
    write_atomic_folder(folder / "x/y/other/", kOld);
    CHECK(names_in(folder / "x/y") == Names{"model", "other"});
}

TEST_CASE("whole folder: new files take the place of old ones, other people's stay", "[folder]") {
    const TemporaryFolder folder;
    const fs::path model = folder / "model";
    write_atomic_folder(model, kOld);
    fs::create_directory(model / "pictures");
    write_bytes(model / "pictures/p.png", "picture");
    write_bytes(model / "notes.txt", "notes");
    fs::create_symlink("nowhere", model / "link");
    write_atomic_folder(model, kNew);
    CHECK(names_in(folder.path()) == Names{"model"});
    CHECK(names_in(model) == Names{"a.txt", "b.txt", "c.txt", "link", "notes.txt", "pictures"});
    CHECK(read_bytes(model / "a.txt") == "new a");
    CHECK(read_bytes(model / "c.txt") == "new c");
    CHECK(read_bytes(model / "notes.txt") == "notes");
    CHECK(read_bytes(model / "pictures/p.png") == "picture");
    CHECK(fs::read_symlink(model / "link") == "nowhere");
}

TEST_CASE("whole folder: who may read and write it and its files stays the same", "[folder]") {
    using fs::perms;
    const TemporaryFolder folder;
    const fs::path model = folder / "model";
    const auto mode = [](const fs::path& path) { return fs::status(path).permissions(); };
    fs::create_directory(folder / "usual");
    write_bytes(folder / "usual.txt", "");
    write_atomic_folder(model, kOld);
    CHECK(mode(model) == mode(folder / "usual"));
    CHECK(mode(model / "a.txt") == mode(folder / "usual.txt"));
    const perms secret = perms::owner_read | perms::owner_write;
    fs::permissions(model, perms::owner_all);
    fs::permissions(model / "a.txt", secret);
    perms seen = perms::none;
    const FolderFile looks = {"d.txt", [&](const ByteSink& sink) {
                                  for (const auto& entry : fs::directory_iterator(folder.path()))
                                      if (entry.path().filename().string().starts_with(".model.part-"))
                                          seen = mode(entry.path());
                                  sink("new d", 5);
                              }};
    write_atomic_folder(model, {kNew[0], kNew[1], looks});
    CHECK(seen == perms::owner_all);  // nobody reads a draft
    CHECK(mode(model) == perms::owner_all);
    CHECK(mode(model / "a.txt") == secret);
    CHECK(mode(model / "c.txt") == mode(folder / "usual.txt"));

    // Files that may not be written stay; who is root asks as somebody else.
    fs::permissions(folder.path(), perms::all);
    fs::permissions(model, perms::all);
    fs::permissions(model / "a.txt", perms::owner_read);
    const int status = status_of_child([&] {
        if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
        try {
            write_atomic_folder(model, kNew);
        } catch (const Error& error) {
            const std::string expected = (model / "a.txt").string() + ": cannot be written: Permission denied";
            ::_exit(error.what() == expected ? error.exit_status() : 2);
        }
    });
    CHECK(status == 3);
    CHECK(names_in(folder.path()) == Names{"model", "usual", "usual.txt"});
    CHECK(mode(model / "a.txt") == perms::owner_read);
}

TEST_CASE("whole folder: through a link, and by a relative path", "[folder]") {
    const TemporaryFolder folder;
    write_atomic_folder(folder / "model", kOld);
    fs::create_directory_symlink(folder / "model", folder / "latest");
    write_atomic_folder(folder / "latest", kNew);
    CHECK(fs::is_symlink(folder / "latest"));
    CHECK(read_bytes(folder / "model/a.txt") == "new a");
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    write_atomic_folder("here", kOld);
    fs::current_path(before);
    CHECK(names_in(folder / "here") == Names{"a.txt", "b.txt"});
}

TEST_CASE("whole folder: a full disk leaves the old one, in one sentence", "[folder][bad]") {
    const TemporaryFolder folder;
    const fs::path model = folder / "model";
    write_atomic_folder(model, kOld);
    const std::string sentence = sentence_on_full_disk(64, [&] {
        write_atomic_folder(model, {folder_file("a.txt", "new a"), folder_file("c.bin", std::string(1000, 'c'))});
    });
    CHECK(sentence == (model / "c.bin").string() + ": cannot be written: File too large");
    CHECK(names_in(folder.path()) == Names{"model"});
    CHECK(names_in(model) == Names{"a.txt", "b.txt"});
    CHECK(read_bytes(model / "a.txt") == "old a");
}

TEST_CASE("whole folder: where no folder can be made is named", "[folder][bad]") {
    const TemporaryFolder folder;
    const fs::path file = write_bytes(folder / "file", "x");
    CHECK(refusal([&] { write_atomic_folder(file, kNew); }) ==
          file.string() + ": cannot be written: there is a file of that name");
    CHECK(refusal([&] { write_atomic_folder(file / "model", kNew); }) ==
          (file / "model").string() + ": cannot be written: Not a directory");
    CHECK(folder.count() == 1);
    // A folder where a file of the new ones belongs.
    const fs::path model = folder / "model";
    fs::create_directories(model / "a.txt");
    write_bytes(model / "a.txt" / "mine", "x");
    CHECK(refusal([&] { write_atomic_folder(model, kNew); }) ==
          (model / "a.txt").string() + ": cannot be written: Is a directory");
    CHECK(names_in(folder.path()) == Names{"file", "model"});
    CHECK(names_in(model) == Names{"a.txt"});
    CHECK(names_in(model / "a.txt") == Names{"mine"});
    // Nobody may write into it, root aside; who is root asks as somebody else.
    const fs::path locked = folder / "locked";
    fs::create_directory(locked);
    fs::permissions(locked,
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    fs::permissions(folder.path(), fs::perms::all);
    const int status = status_of_child([&] {
        if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
        try {
            write_atomic_folder(locked / "model", kNew);
        } catch (const Error& error) {
            const std::string expected = (locked / "model").string() + ": cannot be written: Permission denied";
            ::_exit(error.what() == expected ? error.exit_status() : 2);
        }
    });
    CHECK(status == 3);
    fs::permissions(locked, fs::perms::owner_all);
    CHECK(names_in(locked).empty());
}

TEST_CASE("whole folder: killed at any time, it is the old one or the new one", "[folder]") {
    const TemporaryFolder folder;
    const fs::path model = folder / "model";
    write_atomic_folder(model, kOld);
    const auto half = [](const ByteSink& sink) {
        sink("half", 4);
        ::_exit(7);
    };
    CHECK(status_of_child([&] {
              write_atomic_folder(model, {folder_file("a.txt", "new a"), FolderFile{"c.txt", half}});
          }) == 7);
    CHECK(names_in(model) == Names{"a.txt", "b.txt"});
    CHECK(read_bytes(model / "a.txt") == "old a");
    CHECK(names_in(folder.path()).size() == 2);  // what the child could not clear away
    fs::create_directory(folder / ".model.part-notes");
    write_atomic_folder(model, kNew);
    CHECK(names_in(folder.path()) == Names{"model", ".model.part-notes"});
    CHECK(read_bytes(model / "a.txt") == "new a");
}

TEST_CASE("whole folder: a reader always finds files of one moment", "[folder]") {
    const TemporaryFolder folder;
    const fs::path model = folder / "model";
    const auto files_of = [](int n) {
        return std::vector<FolderFile>{folder_file("a.txt", std::to_string(n)),
                                       folder_file("b.txt", std::to_string(n))};
    };
    write_atomic_folder(model, files_of(0));
    const ::pid_t writer = ::fork();
    if (writer == 0) {
        for (int n = 1; n < 40; ++n) write_atomic_folder(model, files_of(n));
        ::_exit(0);
    }
    int missing = 0, status = 0;
    const auto found = [&] { return ::access((model / "a.txt").c_str(), F_OK) == 0; };
    // Twice, because the folder may change between the two halves of one look.
    while (::waitpid(writer, &status, WNOHANG) == 0) missing += !found() && !found();
    CHECK(missing == 0);
    CHECK(status == 0);
    CHECK(read_bytes(model / "a.txt") == "39");
    CHECK(read_bytes(model / "b.txt") == "39");
}

TEST_CASE("whole folder: files of a folder inside are of the same moment", "[folder]") {
    const TemporaryFolder folder;
    const fs::path model = folder / "model";
    const auto both = [](const std::string& age) {
        return std::vector<FolderFile>{folder_file("a.txt", age + " a"), folder_file("in/b.txt", age + " b")};
    };
    write_atomic_folder(model, both("old"));
    CHECK(names_in(folder.path()) == Names{"model"});
    CHECK(names_in(model) == Names{"a.txt", "in"});
    // What is somebody else's stays, there too; and so do modes.
    write_bytes(model / "in/notes.txt", "notes");
    fs::create_directories(model / "in/pictures");
    write_bytes(model / "in/pictures/p.png", "picture");
    fs::create_directory(model / "looks");
    fs::permissions(model / "in", fs::perms::owner_all);
    write_atomic_folder(model, both("new"));
    CHECK(names_in(folder.path()) == Names{"model"});
    CHECK(names_in(model) == Names{"a.txt", "in", "looks"});
    CHECK(names_in(model / "in") == Names{"b.txt", "notes.txt", "pictures"});
    CHECK(read_bytes(model / "in/b.txt") == "new b");
    CHECK(read_bytes(model / "in/pictures/p.png") == "picture");
    CHECK(fs::status(model / "in").permissions() == fs::perms::owner_all);
    // A full disk, and a program that is killed, leave nothing of either.
    const std::vector<FolderFile> large = {folder_file("a.txt", "newest a"),
                                           folder_file("in/b.txt", std::string(1000, 'b'))};
    for (const fs::path& place : {model, folder / "first"}) {
        CHECK(sentence_on_full_disk(64, [&] { write_atomic_folder(place, large); }) ==
              (place / "in/b.txt").string() + ": cannot be written: File too large");
        CHECK(status_of_child([&] {
                  write_atomic_folder(place, {folder_file("a.txt", "newest a"), folder_file("in/c.txt", "c"),
                                              FolderFile{"in/b.txt", [](const ByteSink&) { ::_exit(7); }}});
              }) == 7);
        tidy_atomic_folder(place);
        CHECK(names_in(folder.path()) == Names{"model"});
        CHECK(read_bytes(model / "a.txt") == "new a");
        CHECK(names_in(model / "in") == Names{"b.txt", "notes.txt", "pictures"});
        CHECK(read_bytes(model / "in/b.txt") == "new b");
    }
    write_bytes(model / "file", "x");
    CHECK(refusal([&] { write_atomic_folder(model, {folder_file("file/b.txt", "b")}); }) ==
          (model / "file").string() + ": cannot be written: Not a directory");
    CHECK(names_in(folder.path()) == Names{"model"});
}

TEST_CASE("whole folder: one that this process stands in is not taken away under its feet", "[folder][bad]") {
    const TemporaryFolder folder;
    const fs::path model = fs::canonical(folder.path()) / "model";
    write_atomic_folder(model, kOld);
    fs::create_directories(model / "in/deep");
    for (const char* here : {".", "in", "in/deep"}) {
        const int status = status_of_child([&] {
            fs::current_path(model / here);
            try {
                write_atomic_folder(model, kNew);
            } catch (const Error& error) {
                const std::string expected = model.string() +
                                             ": is or holds the folder that this command runs in, and is replaced as "
                                             "a whole; expected a command that runs in " +
                                             model.parent_path().string() + " and names model";
                ::_exit(error.what() == expected ? error.exit_status() : 9);
            }
        });
        CHECK(status == 2);
    }
    CHECK(read_bytes(model / "a.txt") == "old a");
    CHECK(names_in(folder.path()) == Names{"model"});
}

TEST_CASE("new folder: what is filled gets the name, and what a killed program left goes", "[folder]") {
    const TemporaryFolder folder;
    const fs::path kit = folder / "above/kit";
    CHECK(status_of_child([&] {
              write_new_folder(kit, [](const fs::path& draft) {
                  write_bytes(draft / "half.txt", "half");
                  ::_exit(7);
              });
          }) == 7);
    CHECK(names_in(folder / "above").size() == 1);  // what the child could not clear away
    CHECK(!fs::exists(kit));
    write_new_folder(kit, [](const fs::path& draft) {
        fs::create_directory(draft / "inside");
        write_bytes(draft / "inside/a.txt", "new a");
    });
    CHECK(names_in(folder / "above") == Names{"kit"});
    CHECK(read_bytes(kit / "inside/a.txt") == "new a");
    // A folder that is empty is as good as none; one that holds something stays.
    fs::create_directory(folder / "empty");
    write_new_folder(folder / "empty/", [](const fs::path& draft) { write_bytes(draft / "a.txt", "new a"); });
    CHECK(names_in(folder / "empty") == Names{"a.txt"});
    CHECK_THAT(refusal([&] { write_new_folder(kit, [](const fs::path&) {}); }), Contains("kit: cannot be written"));
    CHECK(read_bytes(kit / "inside/a.txt") == "new a");
    CHECK(names_in(folder / "above") == Names{"kit"});
}

TEST_CASE("new folder: an error inside names the place that was wanted, and nothing stays", "[folder][bad]") {
    const TemporaryFolder folder;
    const fs::path kit = folder / "above/kit";
    const auto refused = [&](const std::function<void(const fs::path&)>& fill) {
        return refusal([&] { write_new_folder(kit, fill); });
    };
    CHECK(refused([](const fs::path& draft) {
              throw Error(Fault::unreadable, (draft / "a.txt").string() + ": full");
          }) == (kit / "a.txt").string() + ": full");
    CHECK(refused([](const fs::path&) { throw Error(Fault::unreadable, "no folder is named"); }) ==
          "no folder is named");
    CHECK_THAT(refused([](const fs::path& draft) { fs::create_directories(draft / std::string(300, 'x')); }),
               Contains("kit: cannot be written: File name too long"));
    CHECK(folder.count() == 0);
}

TEST_CASE("whole folder: an old one that had stepped aside returns to its name", "[folder]") {
    // As a program leaves it that was killed where two folders cannot change places in one step.
    const auto gone = std::to_string([] {
        const ::pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        ::waitpid(child, nullptr, 0);
        return child;
    }());
    const TemporaryFolder folder;
    const fs::path model = folder / "model", aside = folder / (".model.old-" + gone);
    fs::create_directory(aside);
    write_bytes(aside / "a.txt", "old a");
    tidy_atomic_folder(model);
    CHECK(names_in(folder.path()) == Names{"model"});
    CHECK(read_bytes(model / "a.txt") == "old a");
    // Killed one step later, the new one is there already; folders of the old one are the user's and go over to it.
    fs::create_directories(aside / "looks");
    write_bytes(aside / "a.txt", "older a");
    tidy_atomic_folder(model);
    CHECK(names_in(folder.path()) == Names{"model"});
    CHECK(names_in(model) == Names{"a.txt", "looks"});
    CHECK(read_bytes(model / "a.txt") == "old a");
}

}  // namespace locus::test::test_atomic_folder
