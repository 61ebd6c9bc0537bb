// The functions by their names; types and numbers are those of cublas_api.h, versions 12 and 13.
#include "cuda/encoder/cublas.h"

#include <dlfcn.h>

#include "cuda/device.h"
#include "cuda/fused/half_types.h"

namespace locus::cuda {

namespace {

using Handle = struct cublasContext*;

constexpr int kAsItLies = 0, kTransposed = 1;  // CUBLAS_OP_N, CUBLAS_OP_T
constexpr int kSumsInFloat = 68;               // CUBLAS_COMPUTE_32F: no TF32 unless the math mode asks for it
constexpr int kChooseItself = -1;              // CUBLAS_GEMM_DEFAULT
constexpr int kNoShortSums = 16;  // CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, default math otherwise
constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // what its manual recommends for Hopper

template <class Scalar>
constexpr cudaDataType kType = std::is_same_v<Scalar, float>  ? CUDA_R_32F
                               : std::is_same_v<Scalar, Half> ? CUDA_R_16F
                                                              : CUDA_R_16BF;

void* load(const std::vector<std::string>& names) {
    std::string all, why;
    for (const std::string& name : names) {
        // Stays loaded: the library leaves threads and contexts behind that do not survive being unloaded.
        if (void* found = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return found;
        const char* error = dlerror();
        why = error ? error : "no reason given";
        all += (all.empty() ? "" : " or ") + name;
    }
    throw Error(Fault::unsupported, "CUDA: cuBLAS was asked for, but " + all + " cannot be loaded (" + why +
                                        "); the products of this program itself need no library");
}

}  // namespace

struct Cublas::Library {
    explicit Library(const std::vector<std::string>& names) : library(load(names)) {
        find("cublasCreate_v2", create);
        find("cublasDestroy_v2", destroy);
        find("cublasGetVersion_v2", get_version);
        find("cublasSetStream_v2", set_stream);
        find("cublasSetWorkspace_v2", set_workspace);
        find("cublasSetMathMode", set_math_mode);
        find("cublasGetStatusString", status_string);
        find("cublasGemmStridedBatchedEx", multiply);
        workspace = std::make_unique<DeviceBuffer<unsigned char>>(kWorkspace);
        Handle made = nullptr;
        check(create(&made), "cublasCreate");
        handle = {made, destroy};
        check(set_math_mode(handle.get(), kNoShortSums), "cublasSetMathMode");
        check(get_version(handle.get(), &version), "cublasGetVersion");
    }
    template <class Function>
    void find(const char* name, Function& function) const {
        function = reinterpret_cast<Function>(dlsym(library, name));
        if (!function)
            throw Error(Fault::unsupported,
                        std::string("CUDA: cuBLAS has no function ") + name + ", expected one of version 12 or 13");
    }
    void check(int status, const char* call) const {
        if (status == 0) return;
        throw Error(Fault::unsupported, std::string("CUDA: ") + call + " failed: " + status_string(status) +
                                            "; the products of this program itself need no library");
    }

    void* library;
    std::unique_ptr<DeviceBuffer<unsigned char>>
        workspace;  // its own, so that no call allocates, under capture least of all
    std::unique_ptr<cublasContext, int (*)(Handle)> handle{nullptr, nullptr};
    int version = 0;
    int (*create)(Handle*) = nullptr;
    int (*destroy)(Handle) = nullptr;
    int (*get_version)(Handle, int*) = nullptr;
    int (*set_stream)(Handle, cudaStream_t) = nullptr;
    int (*set_workspace)(Handle, void*, std::size_t) = nullptr;
    int (*set_math_mode)(Handle, int) = nullptr;
    const char* (*status_string)(int) = nullptr;
    int (*multiply)(Handle, int, int, int, int, int, const void*, const void*, cudaDataType, int, long long,
                    const void*, cudaDataType, int, long long, const void*, void*, cudaDataType, int, long long, int,
                    int, int) = nullptr;
};

const std::vector<std::string>& Cublas::libraries() {
    static const std::vector<std::string> names = {"libcublas.so.13", "libcublas.so.12"};
    return names;
}

Cublas::Cublas(const std::vector<std::string>& names) : library_(std::make_unique<Library>(names)) {}
Cublas::~Cublas() = default;

std::string Cublas::name() const {
    const int version = library_->version;
    return "cuBLAS " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

template <class Scalar>
void Cublas::multiply(const BatchedProducts<Scalar>& products, void* stream) {
    const ProductArguments<Scalar>& at = products.first;
    if (at.rows == 0 || at.columns == 0 || products.count == 0) return;
    LOCUS_CHECK(!at.bias && !at.activates, "cuBLAS: the product takes neither bias nor activation along");
    Library& library = *library_;
    library.check(library.set_stream(library.handle.get(), static_cast<cudaStream_t>(stream)), "cublasSetStream");
    // Setting the stream gives the workspace back, so it is handed over again.
    library.check(library.set_workspace(library.handle.get(), library.workspace->data(), kWorkspace),
                  "cublasSetWorkspace");
    const float one = 1, zero = 0;
    // The library counts down columns: what it calls c is our c transposed, so b comes first.
    library.check(
        library.multiply(library.handle.get(), products.b_transposed ? kTransposed : kAsItLies, kAsItLies, at.columns,
                         at.rows, at.depth, &one, at.b, kType<Scalar>, static_cast<int>(at.b_row), products.b_stride,
                         at.a, kType<Scalar>, static_cast<int>(at.a_row), products.a_stride, &zero, at.c, kType<Scalar>,
                         static_cast<int>(at.c_row), products.c_stride, products.count, kSumsInFloat, kChooseItself),
        "cublasGemmStridedBatchedEx");
}

template void Cublas::multiply<float>(const BatchedProducts<float>&, void*);
template void Cublas::multiply<Half>(const BatchedProducts<Half>&, void*);
template void Cublas::multiply<Bfloat16>(const BatchedProducts<Bfloat16>&, void*);

}  // namespace locus::cuda
