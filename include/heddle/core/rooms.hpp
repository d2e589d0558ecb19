// SPDX-License-Identifier: MIT
// Room: core. The namespaces of the rooms: each sees the names of the rooms below it, as the arrows of docs/rooms.md say, and no others.
// Sees: core/language.  Does not see: what the rooms have.
// In: -.  Out: heddle::core_room to heddle::backend_room. What users write is named in heddle, heddle::datasets or heddle::extending as well,
// at the end of the header that has it.
#pragma once

#include "heddle/core/language.hpp"

namespace heddle {

// NOLINTBEGIN(google-build-using-namespace): the directives are the arrows
namespace core_room {}

namespace graph_room {
using namespace core_room;
}
namespace mesh_room {
using namespace graph_room;
}
namespace policy_room {
using namespace mesh_room;
}
namespace plan_room {
using namespace policy_room;
}
namespace cost_room {
using namespace plan_room;
}

namespace seams_room {
using namespace graph_room;
}
namespace compute_room {
using namespace seams_room;
}
namespace transport_room {
using namespace seams_room;
}

namespace io_room {}
namespace run_room {
using namespace plan_room;
using namespace seams_room;
using namespace io_room;  // files of tensors
}
namespace io_room {
using namespace cost_room;
using namespace run_room;  // data sets
}
namespace report_room {
using namespace cost_room;
using namespace run_room;
}
namespace proof_room {
using namespace run_room;
using namespace compute_room;
}
namespace backend_room {
using namespace report_room;
using namespace proof_room;
using namespace transport_room;
}
// NOLINTEND(google-build-using-namespace)

}  // namespace heddle
