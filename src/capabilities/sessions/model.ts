import { type Static, Type } from "typebox";
import { Timestamp } from "../../engine/fields.ts";

export const SessionProfile = Type.Object(
  {
    sessionProfileId: Type.String(),
    sessionProfileName: Type.String(),
    scope: Type.String(),
    expirationSeconds: Type.Optional(Type.String()),
    notes: Type.Optional(Type.String()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { $id: "SessionProfile" },
);
export type SessionProfile = Static<typeof SessionProfile>;
