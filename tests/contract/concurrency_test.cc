// Several streams at once: each launch's result is that of the same launch alone.

#include <thread>

#include "tests/contract/contract_test.h"
#include "tests/testing/score_generators.h"
#include "tests/testing/status_matchers.h"

namespace winnow::contract {
namespace {

// Launches of one caller, on a stream of its own.
void CallManyTimes(Device& device, uint64_t seed, int launches) {
  testing::Random random(seed);
  auto executor = Executor::Create(device);
  ASSERT_OK(executor);
  for (int launch = 0; launch < launches; ++launch) {
    std::vector<int32_t> lengths(random.Between(1, 12));
    for (int32_t& length : lengths) length = static_cast<int32_t>(random.Below(9000));
    if (random.OneIn(4)) lengths[0] = 66000;
    TopKRequest request = NormalRequest(lengths, random);
    request.wants_values = random.OneIn(2);
    // Every fourth launch has a fault, which must stay in its own report.
    if (launch % 4 == 3) {
      request.lengths = request.Lengths();
      request.lengths.back() = INT32_MAX;
    }
    const TopKParams params{.dtype = random.OneIn(3) ? DType::kBfloat16 : DType::kFloat32,
                            .k = random.OneIn(2) ? 512 : 2048,
                            .deterministic = random.OneIn(2)};
    EXPECT_TRUE(RunTopK(**executor, params, {request})) << "seed " << seed;
  }
}

TEST_P(ContractTest, StreamsUsedAtOnceDoNotDisturbEachOther) {
  const int launches = Repetitions(200);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, seed = random().Next()] { CallManyTimes(device(), seed, launches); });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_P(ContractTest, StreamsOfBothPrioritiesAndEventsWork) {
  for (const StreamPriority priority : {StreamPriority::kNormal, StreamPriority::kHigh}) {
    auto stream = device().CreateStream(priority);
    ASSERT_OK(stream);
    auto start = device().CreateEvent();
    auto end = device().CreateEvent();
    ASSERT_OK(start);
    ASSERT_OK(end);
    auto memory = device().Allocate(MemoryKind::kDevice, 1 << 20);
    ASSERT_OK(memory);
    ASSERT_OK((*start)->Record(**stream));
    ASSERT_OK(device().Fill(**stream, (*memory)->data(), 7, 1 << 20));
    ASSERT_OK((*end)->Record(**stream));
    ASSERT_OK((*end)->Wait());
    const auto done = (*end)->Done();
    ASSERT_OK(done);
    EXPECT_TRUE(*done);
    const auto micros = (*end)->MicrosSince(**start);
    ASSERT_OK(micros);
    EXPECT_GE(*micros, 0);
    std::vector<char> copy(1 << 20);
    ASSERT_OK(device().Copy(**stream, copy.data(), (*memory)->data(), 1 << 20));
    ASSERT_OK((*stream)->Synchronize());
    EXPECT_EQ(copy, std::vector<char>(1 << 20, 7));
  }
}

TEST_P(ContractTest, RowsAreCopiedWithTheirPitches) {
  std::vector<int32_t> source(5 * 11), result(5 * 13, -1);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<int32_t>(i);
  auto memory = device().Allocate(MemoryKind::kDevice, 5 * 17 * 4);
  ASSERT_OK(memory);
  Stream& stream = executor().stream();
  ASSERT_OK(device().CopyRows(stream, (*memory)->data(), 17 * 4, source.data(), 11 * 4, 7 * 4, 5));
  ASSERT_OK(device().CopyRows(stream, result.data(), 13 * 4, (*memory)->data(), 17 * 4, 7 * 4, 5));
  ASSERT_OK(stream.Synchronize());
  for (int row = 0; row < 5; ++row) {
    for (int column = 0; column < 13; ++column) {
      EXPECT_EQ(result[row * 13 + column], column < 7 ? row * 11 + column : -1);
    }
  }
}

}  // namespace
}  // namespace winnow::contract
