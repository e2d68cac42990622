// The fixture for a store behind a gate, with another store that connects directly to the same
// place.
#pragma once

#include <optional>

#include "support/gate.h"
#include "support/workflow_test.h"

namespace pawl::test {

class FarStoreTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        gate_.emplace(port_of(test_server_url()));
        far_.emplace(connect(with_port(place().url(), gate_->port()), options()));
    }
    void TearDown() override {
        far_.reset();
        gate_.reset();
        WorkflowTest::TearDown();
    }
    Gate& gate() { return *gate_; }
    [[nodiscard]] const Store& far() const { return *far_; }

private:
    std::optional<Gate> gate_;
    std::optional<Store> far_;
};

}  // namespace pawl::test
