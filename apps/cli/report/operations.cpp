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

    // Measured seconds and, with the bytes that must be moved, the share of the memory's speed.
    void time(Json& entry, double bytes, const std::function<void()>& run) const
    {
        entry["moved_bytes"] = bytes;
        if (measure_.bandwidth > 0) entry["bound_seconds"] = bytes / measure_.bandwidth;
        if (!measure_.run) return;
        const double seconds = median_seconds(ctx_, run);
        entry["seconds"] = seconds;
        entry["bytes_per_second"] = bytes / seconds;
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

    Json spmv() const
    {
        const auto plan = spmv::Plan<double>::make(ctx_, a_, {.checked = false});
        Json entry = {{"chosen", to_text(plan.policy())}, {"describe", plan.describe()}, {"bytes", plan.bytes()}};
        const Buffer<double> x = vector(a_.cols);
        Buffer<double> y = vector(a_.rows);
        const double moved = matrix_bytes() + 8.0 * (static_cast<double>(a_.rows) + a_.cols);
        time(entry, moved, [&] { plan.run(x.span(), y.span()); });
        return entry;
    }

    Json spmm() const
    {
        const auto plan = spmm::Plan<double>::make(ctx_, a_, {.n = columns, .checked = false});
        Json entry = {{"chosen", to_text(plan.policy())}, {"describe", plan.describe()}, {"bytes", plan.bytes()}};
        const Buffer<double> b = vector(offset_t{a_.cols} * columns);
        Buffer<double> c = vector(offset_t{a_.rows} * columns);
        const DenseView<const double> b_view{a_.cols, columns, columns, Layout::row_major, b.data()};
        const DenseView<double> c_view{a_.rows, columns, columns, Layout::row_major, c.data()};
        const double moved = matrix_bytes() + 8.0 * columns * (static_cast<double>(a_.rows) + a_.cols);
        time(entry, moved, [&] { plan.run(b_view, c_view); });
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
        Json entry = {
            {"chosen", to_text(plan.policy())}, {"describe", plan.describe()}, {"bytes", need.plan},
            {"nonzeros", plan.nonzeros()},      {"result_bytes", need.result}, {"workspace_bytes", need.workspace}};
        time(entry, 2 * matrix_bytes() + static_cast<double>(need.result),
             [&] { spgemm::multiply(ctx_, a_, a_, {.checked = false}); });
        return entry;
    }

    Json sptrsv() const
    {
        if (a_.rows != a_.cols) return {{"not", "the matrix is not square"}};
        if (!measure_.full_diagonal) return {{"not", "the diagonal has empty places: the triangle is singular"}};
        const auto plan = sptrsv::Plan<double>::make(ctx_, a_, {.other_side = sptrsv::OtherSide::ignore});
        Json entry = {{"chosen", to_text(plan.policy())}, {"describe", plan.describe()}, {"bytes", plan.bytes()}};
        const Buffer<double> b = vector(a_.rows);
        Buffer<double> x = vector(a_.rows);
        const double moved = matrix_bytes() / 2 + 16.0 * a_.rows;
        time(entry, moved, [&] { plan.solve(b.span(), x.span()); });
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
