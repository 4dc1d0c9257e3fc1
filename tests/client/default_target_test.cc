#include "winnow/client/default_target.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace winnow::client {
namespace {

class DefaultTargetTest : public ::testing::Test {
 protected:
  DefaultTargetTest() {
    unsetenv("WINNOW_TARGET");
    unsetenv("XDG_RUNTIME_DIR");
  }
};

TEST_F(DefaultTargetTest, TheVariableWins) {
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  setenv("WINNOW_TARGET", "localhost:7070", 1);
  EXPECT_EQ(DefaultTarget(), "localhost:7070");
  EXPECT_EQ(DefaultSocketTarget(), "unix:/run/user/7/winnow.sock");
}

TEST_F(DefaultTargetTest, AnEmptyVariableIsAsGoodAsNone) {
  setenv("WINNOW_TARGET", "", 1);
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  EXPECT_EQ(DefaultTarget(), "unix:/run/user/7/winnow.sock");
}

TEST_F(DefaultTargetTest, WithoutARuntimeFolderTheUserIdNamesThePlace) {
  const std::string expected = "unix:/tmp/winnow-" + std::to_string(getuid()) + "/winnow.sock";
  EXPECT_EQ(DefaultTarget(), expected);
  setenv("XDG_RUNTIME_DIR", "relative", 1);
  EXPECT_EQ(DefaultTarget(), expected);
}

}  // namespace
}  // namespace winnow::client
