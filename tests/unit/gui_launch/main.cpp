#include <QApplication>

#include <gtest/gtest.h>

#include "app/gui/widgets/theme.h"

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    millrace::gui::ThemeControl theme(application);
    theme.choose(millrace::gui::ThemeChoice::kDark);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
