#include "tests/bench/cuda/timed_problem.h"

#include <optional>

#include "cuda/device.h"
#include "cuda/fused/fused_host.h"

namespace locus::cuda {

struct TimedProblem::OnDevice {
    virtual ~OnDevice() = default;
    virtual double forward() = 0;
    virtual double backward() = 0;
    virtual Tensor<float> context() const = 0;
    virtual FusedGradients gradients() const = 0;
    virtual std::string forward_choice() const = 0;
    virtual std::string backward_choice() const = 0;
};

namespace {

template <class Scalar>
class Problem : public TimedProblem::OnDevice {
public:
    Problem(const FusedInput& input, const RelativeBuckets& line, const Tensor<float>& d_context)
        : device_(input, line),
          width_(static_cast<int>(device_.sizes().width)),
          context_shape_(input.q.shape()),
          context_(static_cast<std::size_t>(input.q.size())),
          log_sum_(static_cast<std::size_t>(device_.sizes().batch * device_.sizes().heads * device_.sizes().queries)),
          args_(device_.arguments(input)) {
        args_.context = rows_of<Scalar>(context_, context_shape_);
        if (d_context.size() == 0) return;
        check_shape("the gradient of the context", d_context, context_shape_);
        args_.log_sum = log_sum_.data();  // which forward alone does not need
        backward_.emplace(input, device_.sizes(), args_, line, d_context);
    }

    double forward() override {
        return median_milliseconds(1, [&] { launch_fused_forward(args_, width_); });
    }
    double backward() override {
        return median_milliseconds(1, [&] { launch_fused_backward(whole().arguments(), width_); });
    }
    Tensor<float> context() const override {
        Tensor<float> found(context_shape_);
        download(context_, found);
        return found;
    }
    FusedGradients gradients() const override { return whole().gradients(); }
    std::string forward_choice() const override { return fused_forward_choice(args_, width_); }
    std::string backward_choice() const override { return fused_backward_choice(whole().arguments(), width_); }

private:
    const DeviceBackward<Scalar>& whole() const {
        LOCUS_CHECK(backward_.has_value(), "TimedProblem: backward needs the gradient of the context");
        return *backward_;
    }

    DeviceInput<Scalar> device_;
    int width_;
    Shape context_shape_;
    DeviceBuffer<Scalar> context_;
    DeviceBuffer<float> log_sum_;
    ForwardArguments<Scalar> args_;
    std::optional<DeviceBackward<Scalar>> backward_;
};

}  // namespace

TimedProblem::TimedProblem(const FusedInput& input, const RelativeBuckets& line, FusedPrecision precision,
                           const Tensor<float>& d_context) {
    check_options(input, line);
    switch (precision) {
        case FusedPrecision::f16:
            device_ = std::make_unique<Problem<Half>>(input, line, d_context);
            break;
        case FusedPrecision::bf16:
            device_ = std::make_unique<Problem<Bfloat16>>(input, line, d_context);
            break;
        default:
            device_ = std::make_unique<Problem<float>>(input, line, d_context);
    }
}

TimedProblem::~TimedProblem() = default;
double TimedProblem::forward() { return device_->forward(); }
double TimedProblem::backward() { return device_->backward(); }
Tensor<float> TimedProblem::context() const { return device_->context(); }
FusedGradients TimedProblem::gradients() const { return device_->gradients(); }
std::string TimedProblem::forward_choice() const { return device_->forward_choice(); }
std::string TimedProblem::backward_choice() const { return device_->backward_choice(); }

}  // namespace locus::cuda
