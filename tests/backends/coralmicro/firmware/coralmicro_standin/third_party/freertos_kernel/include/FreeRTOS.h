#pragma once

constexpr unsigned portMAX_DELAY = 0xFFFFFFFF;
