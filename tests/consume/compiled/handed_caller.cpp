// SPDX-License-Identifier: MIT
#include "handed.hpp"

float first_weight(Handed& handed) { return handed.trainer.parameter("0.weight")[0]; }
float first_weight(Behind& handed) { return handed.trainer.parameter("0.weight")[0]; }
