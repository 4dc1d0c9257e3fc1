// One row that tests of the client library select from; a fixture takes it as a second base.

#ifndef WINNOW_TESTS_INTEGRATION_SMALL_ROW_H_
#define WINNOW_TESTS_INTEGRATION_SMALL_ROW_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "winnow/client/client.h"

namespace winnow::testing {

class SmallRow {
 protected:
  // The best two of the row, best first: positions 1 and 2. Valid while this object lives.
  client::TopKRequest BestTwo(client::TensorRef scores) const {
    return {.scores = std::move(scores),
            .lengths = client::Int32Column(lengths_),
            .k = 2,
            .order = Order::kScore};
  }

  const std::vector<float> scores_ = {1, 4, 3, 2};
  const std::vector<int32_t> lengths_ = {4};
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_SMALL_ROW_H_
