// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "apps/cli/report/operations.hpp"

#include <algorithm>
#include <functional>

#include "tulle/spgemm.hpp"
#include "tulle/spmm.hpp"
#include "tulle/spmv.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::cli::sections {
namespace {

constexpr offset_t most_products = offset_t{1} << 28;  // of A times A; beyond it a report would take long
constexpr index_t columns = 32;                        // of B in SpMM
constexpr double long_enough = 0.2;                    // seconds of samples

// Median of runs for a fifth of a second, at least three.
double median_seconds(const Context& ctx, const std::function<void()>& run)
{
    run();
    ctx.synchronize();
    std::vector<double> sample;
    for (double all = 0; sample.size() < 3 || (all < long_enough && sample.size() < 200); all += sample.back()) {
        const double begin = trace::now();
        run();
        ctx.synchronize();
        sample.push_back(trace::now() - begin);
    }
    std::nth_element(sample.begin(), sample.begin() + std::ssize(sample) / 2, sample.end());
    return sample[sample.size() / 2];
}

class Operations {
public:
    Operations(const Context& ctx, const CsrView<double>& on_host, const Measure& measure)
        : ctx_(ctx),
          owned_(ctx.backend() == Backend::cuda ? to_device(ctx, on_host) : Csr<double>{}),
          a_(ctx.backend() == Backend::cuda ? owned_.view() : on_host),
          measure_(measure)
    {}

    Json all() const
    {
        Json list = Json::array();
        add(list, "SpMV", "y = A x", [&] { return spmv(); });
        add(list, "SpMM", concat("C = A B, ", columns, " columns"), [&] { return spmm(); });
        add(list, "SpGEMM", "C = A A", [&] { return spgemm(); });
        add(list, "SpTRSV", "L x = b, L the lower triangle", [&] { return sptrsv(); });
        return list;
    }

private:
    // An operation that cannot be prepared tells why; the report goes on.
    void add(Json& list, const char* name, const std::string& what, const std::function<Json()>& look) const
    {
        Json entry = {{"operation", name}, {"what", what}, {"device", ctx_.name()}};
        if (static_cast<double>(a_.rows) + a_.cols > 64.0 * static_cast<double>(a_.nonzeros) + (1 << 24)) {
            entry["not"] = "far more rows or columns than entries: the vectors would take all memory";
            list.push_back(entry);
            return;
        }
        try {
            entry.update(look());
        } catch (const Error& error) {
            entry["not"] = error.what();
        }
        list.push_back(entry);
    }

    // What an operation must move and compute, and what it is predicted to take by a model of its kernel (0: none).
    struct Work {
        double bytes = 0, flops = 0, model_seconds = 0;
    };
    void predict(Json& entry, const Work& work) const
    {
        entry["moved_bytes"] = work.bytes;
        entry["flops"] = work.flops;
        if (measure_.bandwidth <= 0) return;
        const double bound = work.bytes / measure_.bandwidth;
        entry["bandwidth"] = measure_.bandwidth;
        entry["bound_seconds"] = bound;
        entry["predicted_seconds"] = std::max(bound, work.model_seconds);
        entry["predicted_by"] = work.model_seconds > bound ? "model" : "memory";
    }
    void time(Json& entry, const std::function<void()>& run) const
    {
        const double seconds = median_seconds(ctx_, run);
        entry["seconds"] = seconds;
        entry["bytes_per_second"] = entry["moved_bytes"].get<double>() / seconds;
    }
    // Row kernels of a CPU have costs that were measured on this machine.
    double model_seconds(const spmv::Plan<double>& plan) const
    {
        const spmv::Policy policy = plan.policy();
        if (ctx_.backend() != Backend::cpu || policy.kernel != spmv::Kernel::rows) return 0;
        const double cost = spmv::cost_of(spmv::measured_costs(sizeof(double)), plan.features().row, policy.lanes);
        return 1e-9 * cost * static_cast<double>(a_.nonzeros) / ctx_.host().threads;
    }

    double matrix_bytes() const
    {
        return static_cast<double>(a_.nonzeros) * (sizeof(double) + sizeof(index_t)) +
               (static_cast<double>(a_.rows) + 1) * sizeof(offset_t);
    }
    Buffer<double> vector(offset_t n) const
    {
        const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
        return to_device(ctx_, std::span<const double>(ones));
    }

    double vector_bytes(double n) const { return n * (static_cast<double>(a_.rows) + a_.cols) * sizeof(double); }
    static Json entry_of(const auto& plan, double operands)
    {
        return {{"chosen", to_text(plan.policy())},
                {"describe", plan.describe()},
                {"bytes", plan.bytes()},
                {"memory_bytes", static_cast<double>(plan.bytes()) + operands}};
    }

    Json spmv() const
    {
        const auto plan = spmv::Plan<double>::make(ctx_, a_, {.checked = false});
        Json entry = entry_of(plan, vector_bytes(1));
        predict(entry, {.bytes = matrix_bytes() + vector_bytes(1),
                        .flops = 2.0 * static_cast<double>(a_.nonzeros),
                        .model_seconds = model_seconds(plan)});
        if (!measure_.run) return entry;
        const Buffer<double> x = vector(a_.cols);
        Buffer<double> y = vector(a_.rows);
        time(entry, [&] { plan.run(x.span(), y.span()); });
        return entry;
    }

    Json spmm() const
    {
        const auto plan = spmm::Plan<double>::make(ctx_, a_, {.n = columns, .checked = false});
        Json entry = entry_of(plan, vector_bytes(columns));
        predict(entry, {.bytes = matrix_bytes() + vector_bytes(columns),
                        .flops = 2.0 * columns * static_cast<double>(a_.nonzeros)});
        if (!measure_.run) return entry;
        const Buffer<double> b = vector(offset_t{a_.cols} * columns);
        Buffer<double> c = vector(offset_t{a_.rows} * columns);
        const DenseView<const double> b_view{a_.cols, columns, columns, Layout::row_major, b.data()};
        const DenseView<double> c_view{a_.rows, columns, columns, Layout::row_major, c.data()};
        time(entry, [&] { plan.run(b_view, c_view); });
        return entry;
    }

    Json spgemm() const
    {
        if (a_.rows != a_.cols) return {{"not", "the matrix is not square"}};
        if (measure_.products > most_products)
            return {
                {"not", concat(measure_.products, " products: more than a report looks at; try tulle plan spgemm")}};
        const auto plan = spgemm::Plan<double>::make(ctx_, a_, a_, {.checked = false});
        const spgemm::MemoryNeed need = plan.memory();
        Json entry = {{"chosen", to_text(plan.policy())},
                      {"describe", plan.describe()},
                      {"bytes", need.plan},
                      {"nonzeros", plan.nonzeros()},
                      {"memory_bytes", need.plan + need.result + need.workspace}};
        predict(entry, {.bytes = 2 * matrix_bytes() + static_cast<double>(need.result),
                        .flops = 2.0 * static_cast<double>(measure_.products)});
        if (measure_.run) time(entry, [&] { spgemm::multiply(ctx_, a_, a_, {.checked = false}); });
        return entry;
    }

    Json sptrsv() const
    {
        if (a_.rows != a_.cols) return {{"not", "the matrix is not square"}};
        if (!measure_.full_diagonal) return {{"not", "the diagonal has empty places: the triangle is singular"}};
        const auto plan = sptrsv::Plan<double>::make(ctx_, a_, {.other_side = sptrsv::OtherSide::ignore});
        Json entry = entry_of(plan, vector_bytes(1));
        const auto entries = static_cast<double>(plan.features().nonzeros);
        predict(entry, {.bytes = entries * (sizeof(double) + sizeof(index_t)) + 24.0 * a_.rows, .flops = 2 * entries});
        if (!measure_.run) return entry;
        const Buffer<double> b = vector(a_.rows);
        Buffer<double> x = vector(a_.rows);
        time(entry, [&] { plan.solve(b.span(), x.span()); });
        return entry;
    }

    Context ctx_;
    Csr<double> owned_;
    CsrView<double> a_;
    Measure measure_;
};

}  // namespace

Json operations(const Context& ctx, const CsrView<double>& on_host, const Measure& measure)
{
    return Operations(ctx, on_host, measure).all();
}

}  // namespace tulle::cli::sections
