#include "core/python/interruptible.h"

#include <charconv>
#include <chrono>
#include <future>

namespace nb = nanobind;

namespace locus::python {

namespace {

class InterruptibleWeights final : public WeightSource {
public:
    InterruptibleWeights(std::shared_ptr<const WeightSource> weights, CancelToken stop, StepCount& layers)
        : weights_(std::move(weights)), stop_(std::move(stop)), layers_(layers) {}

    std::optional<Shape> shape(const std::string& name) const override { return weights_->shape(name); }
    std::vector<std::string> names() const override { return weights_->names(); }
    std::string location() const override { return weights_->location(); }
    Matrix<float> rows_f32(const std::string& name, Index first_row, Index rows) const override {
        begin(name);
        return weights_->rows_f32(name, first_row, rows);
    }
    Matrix<double> rows_f64(const std::string& name, Index first_row, Index rows) const override {
        begin(name);
        return weights_->rows_f64(name, first_row, rows);
    }

private:
    void begin(const std::string& name) const {
        throw_if_cancelled(stop_);
        for (const std::string part : {"layer.", "layers."}) {
            const std::size_t at = name.find(part);
            if (at == std::string::npos) continue;
            std::size_t number = 0;
            const char* first = name.data() + at + part.size();
            if (std::from_chars(first, name.data() + name.size(), number).ptr == first) continue;
            if (number + 1 > layers_) layers_ = number + 1;  // one thread reads
        }
    }

    std::shared_ptr<const WeightSource> weights_;
    CancelToken stop_;
    StepCount& layers_;
};

/// Waits with the GIL released; true once the work has ended.
bool ended(const std::future<void>& work) {
    nb::gil_scoped_release released;
    return work.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready;
}

}  // namespace

void run_interruptibly(const std::function<void(const CancelToken& stop, StepCount& steps)>& work,
                       const nb::object& progress) {
    std::atomic<bool> stopped = false;
    StepCount steps = 0;
    std::size_t shown = 0;
    std::unique_ptr<nb::python_error> raised;  // by a signal's handler, or by `progress`
    std::future<void> result =
        std::async(std::launch::async, [&] { work([&stopped] { return stopped.load(); }, steps); });
    const auto give_up = [&](nb::python_error&& error) {
        raised = std::make_unique<nb::python_error>(std::move(error));
        stopped = true;
    };
    bool done = false;
    while (!done) {
        done = ended(result);
        if (raised) continue;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            if (!progress.is_none() && steps > shown) progress(shown = steps);
        } catch (nb::python_error& error) {
            give_up(std::move(error));
        }
    }
    if (!raised) return result.get();
    try {
        result.get();
    } catch (...) {
        // What was given up has nothing more to say.
    }
    throw std::move(*raised);
}

std::shared_ptr<const WeightSource> interruptible(std::shared_ptr<const WeightSource> weights, CancelToken stop,
                                                  StepCount& layers) {
    return std::make_shared<InterruptibleWeights>(std::move(weights), std::move(stop), layers);
}

}  // namespace locus::python
