#include "core/io/atomic_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "core/check.h"
#include "core/io/write_target.h"

namespace locus {

namespace fs = std::filesystem;

namespace {

/// Two folders change places, where the system can do that in one step; as renameat2() otherwise, with errno ENOSYS.
int exchange(const fs::path& one, const fs::path& other) {
#ifdef RENAME_EXCHANGE
    return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
#else
    static_cast<void>(one);
    static_cast<void>(other);
    errno = ENOSYS;
    return -1;
#endif
}

constexpr const char* kFolderMark = ".part-";  // beside a folder that changes places with its draft
constexpr const char* kAside = ".old-";        // such a folder while it steps aside
constexpr const char* kNewMark = ".new-";      // beside a folder that is made for the first time

/// Where `folder` is written, without a slash at its end.
fs::path target_of(const fs::path& folder) {
    std::error_code error;
    fs::path wanted = fs::absolute(folder, error);
    if (error) throw_not_writable(folder, error.message());
    if (!wanted.has_filename()) wanted = wanted.parent_path();  // "model/"
    LOCUS_CHECK(wanted.has_filename(), folder.string() + ": is the root of all folders, expected one of its own");
    const fs::path target = behind_links(wanted).lexically_normal();
    if (fs::exists(target, error) && !fs::is_directory(target, error))
        throw_not_writable(folder, std::string("there is a file of that name"));
    return target.has_filename() ? target : target.parent_path();
}

using FolderNames = std::set<std::string>;

/// Removes a folder that is not in use any more.  Folders inside it belong to the user and go over to `folder`, except
/// for those that are written with it, which are there anew; what the user has inside these goes over as well.  Where
/// something cannot, all stays, and the answer is no.
bool clear_away(const fs::path& draft, const fs::path& folder, const FolderNames& written) {
    std::error_code error;
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(draft, error))
        if (entry.is_directory(error) && !entry.is_symlink(error)) inside.push_back(entry.path());
    for (const fs::path& one : inside) {
        const fs::path place = folder / one.filename();
        if (written.count(one.filename().string()) > 0) {
            if (fs::is_directory(fs::symlink_status(place, error)) && !clear_away(one, place, {})) return false;
            continue;
        }
        if (fs::exists(fs::symlink_status(place, error))) return false;
        fs::rename(one, place, error);
        if (error) return false;
    }
    fs::remove_all(draft, error);
    return !error;
}

void clear_remains(const fs::path& target, const FolderNames& written) {
    std::error_code error;
    for (const fs::path& one : abandoned_drafts(target, kAside)) {
        if (fs::exists(fs::symlink_status(target, error)))
            clear_away(one, target, written);
        else
            fs::rename(one, target, error);
    }
    for (const fs::path& one : abandoned_drafts(target, kFolderMark))
        if (fs::is_directory(fs::symlink_status(one, error))) clear_away(one, target, written);
    for (const fs::path& one : abandoned_drafts(target, kNewMark)) fs::remove_all(one, error);
}

/// The same for a folder that another one takes the place of.  A shell or a program that stands in it would stand in
/// one that is removed: this process, at least, can say so.
fs::path replaced_target_of(const fs::path& folder) {
    const fs::path target = target_of(folder);
    std::error_code error;
    for (fs::path here = fs::current_path(error); !here.empty(); here = here.parent_path()) {
        LOCUS_CHECK(!fs::equivalent(here, target, error),
                    folder.string() + ": is or holds the folder that this command runs in, and is replaced as a " +
                        "whole; expected a command that runs in " + target.parent_path().string() + " and names " +
                        target.filename().string());
        if (here == here.root_path()) break;
    }
    return target;
}

/// The folder inside the new one that a file belongs into; "" for the new one itself.
std::string folder_of(const FolderFile& file) { return fs::path(file.name).parent_path().string(); }

FolderNames folders_of(const std::vector<FolderFile>& files) {
    FolderNames names;
    for (const FolderFile& file : files)
        if (const std::string name = folder_of(file); !name.empty()) names.insert(name);
    return names;
}

/// The folders above a new one; those that it had to make go again, unless it is kept.
class FoldersAbove {
public:
    FoldersAbove(const fs::path& wanted, const fs::path& target) {
        std::error_code error;
        for (fs::path above = target.parent_path();
             !above.empty() && fs::symlink_status(above, error).type() == fs::file_type::not_found && above != "/";
             above = above.parent_path())
            made_.push_back(above);
        fs::create_directories(target.parent_path(), error);
        if (!error) return;
        remove();
        throw_not_writable(wanted, error.message());
    }
    ~FoldersAbove() {
        if (!kept_) remove();
    }
    FoldersAbove(const FoldersAbove&) = delete;
    FoldersAbove& operator=(const FoldersAbove&) = delete;
    void keep() { kept_ = true; }

private:
    void remove() {
        for (const fs::path& one : made_) ::rmdir(one.c_str());  // the deepest first; only what is empty
    }
    std::vector<fs::path> made_;
    bool kept_ = false;
};

/// Errors inside a draft name the file where the reader will look for it.
template <class Call>
void with_names_of(const fs::path& wanted, const fs::path& draft, Call call) {
    try {
        call();
    } catch (const Error& error) {
        std::string sentence = error.what();
        if (const auto at = sentence.find(draft.string()); at != std::string::npos)
            sentence.replace(at, draft.string().size(),
                             (wanted.has_filename() ? wanted : wanted.parent_path()).string());
        throw Error(error.fault(), sentence);
    } catch (const fs::filesystem_error& error) {
        throw_not_writable(wanted, error.code().message());
    }
}

/// Who may do what with a file or folder; nothing where there is none.
std::optional<mode_t> mode_of(const fs::path& path) {
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0) return std::nullopt;
    return found.st_mode & 07777;
}

/// The new folder while it is filled; goes away unless it is put in place.  Until then nobody else can look into it,
/// and then it and its files have the modes of those that they replace.
/// Folders that are written with it wait beside it, under a name by which they are known to be nobody else's: what a
/// killed program leaves of them is removed, whereas folders inside a draft may be the user's.
class DraftFolder {
public:
    DraftFolder(const fs::path& wanted, const fs::path& target, FolderNames written)
        : wanted_(wanted),
          target_(target),
          path_(draft_name(target, kFolderMark)),
          beside_(draft_name(target, kNewMark)),
          written_(std::move(written)),
          above_(wanted, target) {
        check_writable(target_, wanted_);
        mode_ = make(path_, target_, wanted_);
        ::chmod(path_.c_str(), 0700);
    }
    ~DraftFolder() {
        try {
            std::error_code ignored;
            fs::remove_all(beside_, ignored);
            clear_away(path_, target_, written_);
        } catch (const std::bad_alloc&) {  // the next write clears it away
        }
    }
    DraftFolder(const DraftFolder&) = delete;
    DraftFolder& operator=(const DraftFolder&) = delete;

    void make_folders_inside() {
        if (written_.empty()) return;
        std::error_code error;
        if (!fs::create_directory(beside_, error)) throw_not_writable(wanted_, error ? error.value() : EEXIST);
        ::chmod(beside_.c_str(), 0700);
        for (const std::string& name : written_) {
            const fs::file_status old = fs::symlink_status(target_ / name, error);
            if (fs::exists(old) && !fs::is_directory(old)) throw_not_writable(wanted_ / name, ENOTDIR);
            check_writable(target_ / name, wanted_ / name);
            modes_[name] = make(beside_ / name, target_ / name, wanted_ / name);
            ::chmod((beside_ / name).c_str(), 0700);
        }
    }

    void write(const FolderFile& file) {
        const bool inside = !folder_of(file).empty();
        const fs::path draft = (inside ? beside_ : path_) / file.name, old = target_ / file.name;
        std::error_code error;
        if (fs::is_directory(fs::symlink_status(old, error))) throw_not_writable(wanted_ / file.name, EISDIR);
        check_writable(old, wanted_ / file.name);
        with_names_of(wanted_, inside ? beside_ : path_, [&] { write_atomic_file(draft, file.write); });
        if (fs::is_regular_file(old, error)) ::chmod(draft.c_str(), mode_of(old).value_or(0644));
    }

    /// The other files of the old folder stay in the new one.
    void keep_others() {
        keep_others_of(target_, path_);
        for (const std::string& name : written_) keep_others_of(target_ / name, beside_ / name);
    }

    void put_in_place() {
        flush(path_);
        for (const std::string& name : written_) {
            flush(beside_ / name);
            ::chmod((beside_ / name).c_str(), modes_[name]);
            if (::rename((beside_ / name).c_str(), (path_ / name).c_str()) != 0) throw_not_writable(wanted_, errno);
        }
        ::chmod(path_.c_str(), mode_);
        std::error_code error;
        if (!fs::exists(target_, error)) {
            if (::rename(path_.c_str(), target_.c_str()) != 0) throw_not_writable(wanted_, errno);
        } else if (exchange(path_, target_) != 0) {
            if (errno != EINVAL && errno != ENOSYS) throw_not_writable(wanted_, errno);
            replace_in_two_steps();
        }
        above_.keep();
    }

private:
    /// Makes a folder -> the mode that it is to have in the end: that of the one that it replaces.
    mode_t make(const fs::path& path, const fs::path& old, const fs::path& shown) const {
        std::error_code error;
        if (!fs::create_directory(path, error)) throw_not_writable(shown, error ? error.value() : EEXIST);
        return mode_of(old).value_or(mode_of(path).value_or(0755));
    }

    void keep_others_of(const fs::path& old, const fs::path& draft) const {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(old, error)) {
            const fs::path copy = draft / entry.path().filename();
            if ((entry.is_directory(error) && !entry.is_symlink(error)) || fs::exists(fs::symlink_status(copy, error)))
                continue;
            fs::create_hard_link(entry.path(), copy, error);
            if (error) fs::copy(entry.path(), copy, fs::copy_options::copy_symlinks, error);
            if (error)
                throw_not_writable(wanted_, entry.path().filename().string() + " cannot be kept: " + error.message());
        }
    }

    /// So that what the new names lead to is on the disk before the names are.
    void flush(const fs::path& folder) const {
        for (const auto& entry : fs::directory_iterator(folder)) {
            const int descriptor = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
            if (descriptor < 0) continue;  // a link to nowhere
            const int failed = ::fsync(descriptor) != 0 && errno == EIO ? errno : 0;
            ::close(descriptor);
            if (failed) throw_not_writable(wanted_, failed);
        }
    }

    /// For file systems where two folders cannot change places: the old one steps aside first, and back if need be.
    void replace_in_two_steps() {
        const fs::path aside = draft_name(target_, kAside);
        if (::rename(target_.c_str(), aside.c_str()) != 0) throw_not_writable(wanted_, errno);
        if (::rename(path_.c_str(), target_.c_str()) != 0) {
            const int error = errno;
            ::rename(aside.c_str(), target_.c_str());
            throw_not_writable(wanted_, error);
        }
        clear_away(aside, target_, written_);
    }

    fs::path wanted_, target_, path_, beside_;
    FolderNames written_;
    FoldersAbove above_;
    mode_t mode_ = 0755;
    std::map<std::string, mode_t> modes_;
};

/// A folder's draft that never holds anything of the user's.
class NewFolder {
public:
    NewFolder(const fs::path& wanted, const fs::path& target)
        : above_(wanted, target), path_(draft_name(target, kNewMark)) {
        std::error_code error;
        if (!fs::create_directory(path_, error)) throw_not_writable(wanted, error ? error.value() : EEXIST);
    }
    ~NewFolder() {
        try {
            std::error_code ignored;
            fs::remove_all(path_, ignored);
        } catch (const std::bad_alloc&) {  // the next write clears it away
        }
    }
    NewFolder(const NewFolder&) = delete;
    NewFolder& operator=(const NewFolder&) = delete;

    const fs::path& path() const { return path_; }
    void put_in_place(const fs::path& wanted, const fs::path& target) {
        if (::rename(path_.c_str(), target.c_str()) != 0) throw_not_writable(wanted, errno);
        above_.keep();
    }

private:
    FoldersAbove above_;
    fs::path path_;
};

}  // namespace

FolderFile folder_file(std::string name, std::string bytes) {
    return {std::move(name), [bytes = std::move(bytes)](const ByteSink& sink) { sink(bytes.data(), bytes.size()); }};
}

void write_atomic_folder(const fs::path& folder, const std::vector<FolderFile>& files) {
    const fs::path target = replaced_target_of(folder);
    const FolderNames inside = folders_of(files);
    for (const std::string& name : inside)
        LOCUS_CHECK(!fs::path(name).has_parent_path(), name + ": a folder inside a folder inside is not written");
    clear_remains(target, inside);
    DraftFolder draft(folder, target, inside);
    draft.make_folders_inside();
    for (const FolderFile& file : files) draft.write(file);
    draft.keep_others();
    draft.put_in_place();
}

void tidy_atomic_folder(const fs::path& folder) { clear_remains(replaced_target_of(folder), {}); }

void write_new_folder(const fs::path& folder, const std::function<void(const fs::path& draft)>& fill) {
    const fs::path target = target_of(folder);
    std::error_code ignored;
    for (const fs::path& one : abandoned_drafts(target, kNewMark)) fs::remove_all(one, ignored);
    NewFolder draft(folder, target);
    with_names_of(folder, draft.path(), [&] { fill(draft.path()); });
    draft.put_in_place(folder, target);
}

}  // namespace locus
