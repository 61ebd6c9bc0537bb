#pragma once
// Toy ports of single terms, in plain loops, for cases that Locus made up itself; and the mistakes they make.
#include "core/conformance/kit/case.h"
#include "tests/conformance/toy/toolbox.h"
#include "tests/conformance/toy/toy_port.h"

namespace locus::conformance::toy {

/// What a port is given: tensors by their full name, in its own precision.
template <class Scalar>
class Given {
public:
    explicit Given(const KitCase& one);
    Array<Scalar> operator()(const std::string& name) const;
    /// mask != 0.
    Array<char> visible() const;

private:
    Trace inputs_;
};

/// Every stage of the case.  Throws Error(usage) for a case that these ports do not compute.
template <class Scalar>
Trace run_term(const KitCase& one, const Injection& injected);

/// Variants of mistake 81 and 80 name a tile: 8, 16, 32 or 64.
inline constexpr Index kTileOf[] = {8, 16, 32, 64};

template <class Scalar>
Trace run_linear(const KitCase& one, const Injection& injected);
template <class Scalar>
Trace run_rotation(const KitCase& one, const Injection& injected);
template <class Scalar>
Trace run_disentangled(const KitCase& one, const Injection& injected);
template <class Scalar>
Trace run_softmax(const KitCase& one, const Injection& injected);

}  // namespace locus::conformance::toy
