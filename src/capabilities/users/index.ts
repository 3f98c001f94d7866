import { capability } from "../../engine/capability.ts";
import { createApiOnlyUsers } from "./create-api-only-users.ts";
import { createUsers } from "./create-users.ts";
import { deleteUsers } from "./delete-users.ts";
import { getUser } from "./get-user.ts";
import { listUsers } from "./list-users.ts";
import { updateUser } from "./update-user.ts";
import { updateUserEmail } from "./update-user-email.ts";
import { updateUserName } from "./update-user-name.ts";
import { updateUserPhoneNumber } from "./update-user-phone-number.ts";

export const users = capability({
  title: "Users",
  operations: [
    createUsers,
    createApiOnlyUsers,
    updateUser,
    updateUserName,
    updateUserEmail,
    updateUserPhoneNumber,
    deleteUsers,
    getUser,
    listUsers,
  ],
  // A user's seat in the root quorum is removed together with the user.
  erases: ["root_quorum_members", "verified_contacts", "users"],
});
