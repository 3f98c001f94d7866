import { getIpAllowlist } from "./get-ip-allowlist.ts";
import { removeIpAllowlist } from "./remove-ip-allowlist.ts";
import { setIpAllowlist } from "./set-ip-allowlist.ts";

export const ipAllowlists = [setIpAllowlist, removeIpAllowlist, getIpAllowlist];
