// Lets a program that was linked here run with glibc 2.31 (Debian 11, Ubuntu 20.04), as machines with a GPU often have.
// Names that glibc gave a new version since, mostly because libpthread and libdl became parts of libc, are bound to
// their old one, which every glibc has; the linker sends all uses of NAME to __wrap_NAME (tests/CMakeLists.txt reads
// the names of this file).  What 2.31 lacks is written out below.  Nothing else of Locus knows of it.
#include <features.h>

#if defined(__x86_64__) && defined(__GLIBC__)

#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>

/// A jump to NAME as glibc had it in this version.
#define OLD(name, version)                                                                                       \
    asm(".symver old_" #name "," #name "@GLIBC_" version "\n.text\n.globl __wrap_" #name "\n.type __wrap_" #name \
        ",@function\n__wrap_" #name ":\n jmp *old_" #name "@GOTPCREL(%rip)\n");

OLD(dlclose, "2.2.5")
OLD(dlerror, "2.2.5")
OLD(dlmopen, "2.3.4")
OLD(dlopen, "2.2.5")
OLD(dlsym, "2.2.5")
OLD(dlvsym, "2.2.5")
OLD(pthread_condattr_setpshared, "2.2.5")
OLD(pthread_create, "2.2.5")
OLD(pthread_detach, "2.2.5")
OLD(pthread_getspecific, "2.2.5")
OLD(pthread_join, "2.2.5")
OLD(pthread_key_create, "2.2.5")
OLD(pthread_key_delete, "2.2.5")
OLD(__pthread_key_create, "2.2.5")
OLD(pthread_kill, "2.2.5")
OLD(pthread_mutex_trylock, "2.2.5")
OLD(pthread_mutexattr_destroy, "2.2.5")
OLD(pthread_mutexattr_init, "2.2.5")
OLD(pthread_mutexattr_setpshared, "2.2.5")
OLD(pthread_mutexattr_settype, "2.2.5")
OLD(pthread_once, "2.2.5")
OLD(pthread_rwlock_destroy, "2.2.5")
OLD(pthread_rwlock_init, "2.2.5")
OLD(pthread_rwlock_rdlock, "2.2.5")
OLD(pthread_rwlock_timedrdlock, "2.2.5")
OLD(pthread_rwlock_timedwrlock, "2.2.5")
OLD(pthread_rwlock_tryrdlock, "2.2.5")
OLD(pthread_rwlock_trywrlock, "2.2.5")
OLD(pthread_rwlock_unlock, "2.2.5")
OLD(pthread_rwlock_wrlock, "2.2.5")
OLD(pthread_rwlockattr_destroy, "2.2.5")
OLD(pthread_rwlockattr_init, "2.2.5")
OLD(pthread_rwlockattr_setpshared, "2.2.5")
OLD(pthread_setspecific, "2.2.5")
OLD(pthread_sigmask, "2.2.5")
OLD(pthread_spin_destroy, "2.2.5")
OLD(pthread_spin_init, "2.2.5")
OLD(pthread_spin_lock, "2.2.5")
OLD(pthread_spin_trylock, "2.2.5")
OLD(pthread_spin_unlock, "2.2.5")
OLD(sem_destroy, "2.2.5")
OLD(sem_init, "2.2.5")
OLD(sem_post, "2.2.5")
OLD(sem_timedwait, "2.2.5")
OLD(sem_trywait, "2.2.5")
OLD(sem_wait, "2.2.5")
OLD(shm_open, "2.2.5")
OLD(shm_unlink, "2.2.5")

/// Written out here.
#define NEW(name)

NEW(arc4random)
NEW(fstat)
NEW(fstat64)
NEW(lstat)
NEW(stat)
NEW(_dl_find_object)
NEW(__libc_start_main)

asm(".symver old_start_main,__libc_start_main@GLIBC_2.2.5");
asm(".symver old_xstat,__xstat@GLIBC_2.2.5");
asm(".symver old_fxstat,__fxstat@GLIBC_2.2.5");
asm(".symver old_lxstat,__lxstat@GLIBC_2.2.5");

extern "C" {

using Main = int (*)(int, char**, char**);
int old_start_main(Main, int, char**, void (*init)(int, char**, char**), void (*)(), void (*)(), void*);
int old_xstat(int version, const char* path, struct stat* found);
int old_fxstat(int version, int file, struct stat* found);
int old_lxstat(int version, const char* path, struct stat* found);

/// libstdc++ counts references without locks where this says so; false costs little and is always right.
char __libc_single_threaded = 0;

int __wrap_stat(const char* path, struct stat* found) { return old_xstat(1, path, found); }
int __wrap_lstat(const char* path, struct stat* found) { return old_lxstat(1, path, found); }
int __wrap_fstat(int file, struct stat* found) { return old_fxstat(1, file, found); }
int __wrap_fstat64(int file, struct stat* found) { return old_fxstat(1, file, found); }

std::uint32_t __wrap_arc4random() {
    std::uint32_t number = 0;
    while (getrandom(&number, sizeof number, 0) != sizeof number) {
    }
    return number;
}

/// Since 2.34 the C library runs a program's constructors itself; before, whoever called this named who does.
extern void (*__preinit_array_start[])(int, char**, char**) __attribute__((visibility("hidden")));
extern void (*__preinit_array_end[])(int, char**, char**) __attribute__((visibility("hidden")));
extern void (*__init_array_start[])(int, char**, char**) __attribute__((visibility("hidden")));
extern void (*__init_array_end[])(int, char**, char**) __attribute__((visibility("hidden")));

static void run_constructors(int count, char** words, char** environment) {
    for (auto* one = __preinit_array_start; one < __preinit_array_end; ++one) (*one)(count, words, environment);
    for (auto* one = __init_array_start; one < __init_array_end; ++one) (*one)(count, words, environment);
}

int __wrap___libc_start_main(Main main, int count, char** words, void (*)(int, char**, char**), void (*)(),
                             void (*end_of_loader)(), void* stack) {
    return old_start_main(main, count, words, run_constructors, nullptr, end_of_loader, stack);
}

/// Where the unwinder finds the tables of the code at an address, as glibc 2.35 tells it.
struct FoundObject {
    std::uint64_t flags;
    void *map_start, *map_end;
    struct link_map* map;
    void* unwind_tables;
    std::uint64_t reserved[7];
};

int __wrap__dl_find_object(void* address, FoundObject* found) {
    struct Search {
        std::uintptr_t address;
        FoundObject* found;
        bool done;
    } search{reinterpret_cast<std::uintptr_t>(address), found, false};
    std::memset(found, 0, sizeof *found);
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* state) {
            Search& one = *static_cast<Search*>(state);
            bool holds = false;
            std::uintptr_t first = ~std::uintptr_t{0}, last = 0, tables = 0;
            for (int n = 0; n < object->dlpi_phnum; ++n) {
                const auto& part = object->dlpi_phdr[n];
                const std::uintptr_t start = object->dlpi_addr + part.p_vaddr, end = start + part.p_memsz;
                if (part.p_type == PT_GNU_EH_FRAME) tables = start;
                if (part.p_type != PT_LOAD) continue;
                if (start < first) first = start;
                if (end > last) last = end;
                holds = holds || (one.address >= start && one.address < end);
            }
            if (!holds || tables == 0) return 0;
            one.found->map_start = reinterpret_cast<void*>(first);
            one.found->map_end = reinterpret_cast<void*>(last);
            one.found->unwind_tables = reinterpret_cast<void*>(tables);
            one.done = true;
            return 1;
        },
        &search);
    return search.done ? 0 : -1;
}

}  // extern "C"

#endif
