import assert from "node:assert/strict";
import { test } from "node:test";
import { KeysteadError } from "../../kernel/errors.ts";
import { type AllowlistInForce, type Allowlists, refuseAddress } from "./ip-allowlists.ts";

const list = (
  cidrs: string[],
  onEvaluationError: AllowlistInForce["onEvaluationError"] = "DENY",
): AllowlistInForce => ({
  rules: JSON.stringify(cidrs.map((cidr) => ({ cidr }))),
  onEvaluationError,
});
const allows = ({ ofOrganization, ofKey }: Partial<Allowlists>, address: string | undefined): boolean => {
  try {
    refuseAddress({ ofOrganization, ofKey }, "organization", address);
    return true;
  } catch (error) {
    assert.ok(error instanceof KeysteadError);
    assert.equal(error.code, "IP_NOT_ALLOWED");
    assert.match(error.message, /organization/);
    return false;
  }
};
const [office, home, elsewhere] = ["192.0.2.7", "198.51.100.7", "203.0.113.7"];
const [ofOffice, ofHome] = [list(["192.0.2.0/24"]), list(["198.51.100.0/24", "2001:db8::/32"])];

test("a request comes from an address of its organization's list, if that has one", () => {
  assert.ok(allows({}, elsewhere));
  assert.ok(allows({ ofOrganization: ofOffice }, office));
  assert.ok(!allows({ ofOrganization: ofOffice }, elsewhere));
  assert.ok(allows({ ofOrganization: ofHome }, "2001:db8::1"), "any of its blocks");
  assert.ok(allows({ ofOrganization: ofOffice }, `::ffff:${office}`));
});

test("a key's own list replaces the organization's, and counts for nothing without it or without rules", () => {
  assert.ok(allows({ ofOrganization: ofOffice, ofKey: ofHome }, home));
  assert.ok(!allows({ ofOrganization: ofOffice, ofKey: ofHome }, office));
  assert.ok(allows({ ofKey: ofHome }, elsewhere), "the organization's is not enabled");
  assert.ok(allows({ ofOrganization: ofOffice, ofKey: list([]) }, office));
  assert.ok(!allows({ ofOrganization: ofOffice, ofKey: list([]) }, elsewhere));
});

test("a list without rules refuses every address, an unknown one too", () => {
  for (const address of [office, undefined]) {
    assert.ok(!allows({ ofOrganization: list([]) }, address));
    assert.ok(!allows({ ofOrganization: list([], "ALLOW") }, address));
  }
});

test("an address that is not known is let in only where the list in force says so", () => {
  for (const unknown of [undefined, "", "unix:"]) {
    assert.ok(!allows({ ofOrganization: ofOffice }, unknown));
    assert.ok(allows({ ofOrganization: list(["192.0.2.0/24"], "ALLOW") }, unknown));
    assert.ok(!allows({ ofOrganization: list(["192.0.2.0/24"], "ALLOW"), ofKey: ofHome }, unknown));
    assert.ok(allows({ ofOrganization: ofOffice, ofKey: list(["198.51.100.0/24"], "ALLOW") }, unknown));
  }
});

test("a stored block that cannot be read lets nobody in, and the others count", () => {
  const damaged = list(["192.0.2.0/99", "198.51.100.0/24"]);
  assert.ok(!allows({ ofOrganization: damaged }, office));
  assert.ok(allows({ ofOrganization: damaged }, home));
});
