// locus_attention._core: what the Python package takes from the C++ library.  The package's own files say what each
// function means to its users; here stands how it is reached.
#include "core/python/module.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/cancel.h"
#include "core/check.h"
#include "core/fast/simd_kernels.h"

int locus_check_main(int argc, char** argv);
int locus_kit_main(int argc, char** argv);
int locus_trace_main(int argc, char** argv);
int locus_fill_main(int argc, char** argv);
int locus_tokens_main(int argc, char** argv);

namespace nb = nanobind;

namespace locus::python {

namespace {

/// A refusal becomes the exception of its kind, with the same sentence.
void translate(const std::exception_ptr& thrown, void*) {
    const auto raise = [](const char* type, const char* sentence) {
        PyErr_SetString(nb::module_::import_("locus_attention.errors").attr(type).ptr(), sentence);
    };
    try {
        std::rethrow_exception(thrown);
    } catch (const Error& error) {
        switch (error.fault()) {
            case Fault::usage:
                return raise("UsageError", error.what());
            case Fault::unreadable:
                return raise("UnreadableError", error.what());
            case Fault::unsupported:
                return raise("UnsupportedError", error.what());
            case Fault::memory:
                PyErr_SetString(PyExc_MemoryError, error.what());
                return;
        }
    }
}

/// One of the programs, by the word after "locus"; returns its exit status.
int run_program(const std::string& verb, std::vector<std::string> arguments) {
    using Main = int (*)(int, char**);
    const Main main = verb == "check"    ? locus_check_main
                      : verb == "kit"    ? locus_kit_main
                      : verb == "trace"  ? locus_trace_main
                      : verb == "fill"   ? locus_fill_main
                      : verb == "tokens" ? locus_tokens_main
                                         : nullptr;
    LOCUS_CHECK(main, "there is no program \"" + verb + "\", expected check, kit, trace, fill or tokens");
    arguments.insert(arguments.begin(), "locus-" + verb);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    nb::gil_scoped_release released;
    return main(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace

}  // namespace locus::python

NB_MODULE(_core, module) {
    using namespace locus::python;
    nb::register_exception_translator(translate);
    module.def("run_program", run_program, nb::arg("verb"), nb::arg("arguments"));
    module.def("kernels", [] { return locus::best_simd_kernels<float>().name; });
    bind_traces(module);
    bind_models(module);
    bind_conformance(module);
}
