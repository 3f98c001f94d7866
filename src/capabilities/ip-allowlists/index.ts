import { capability } from "../../engine/capability.ts";
import { getIpAllowlist } from "./get-ip-allowlist.ts";
import { removeIpAllowlist } from "./remove-ip-allowlist.ts";
import { setIpAllowlist } from "./set-ip-allowlist.ts";

export const ipAllowlists = capability({
  title: "IP allowlists",
  operations: [setIpAllowlist, removeIpAllowlist, getIpAllowlist],
  erases: ["ip_allowlists"],
});
