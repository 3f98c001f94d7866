import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { apiKeyOf, mfaPolicyOf, type Person, passkeyOf, viewOfPeople } from "../../../test/support/people.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { otpFeatures } from "../attested.ts";
import { draftOn } from "../view.ts";
import { refuseQuorumWithoutFeature, refuseShortQuorum, seatNewUsers, setRootQuorum } from "./root-quorum.ts";

const signing: Person = { apiKeys: [apiKeyOf("key")] };
const always = (type: "AUTHENTICATION_TYPE_PASSKEY" | "AUTHENTICATION_TYPE_EMAIL_OTP") =>
  mfaPolicyOf("mfa", "true", [{ any: [{ type }] }]);
const lockedOut: Person = { ...signing, mfaPolicies: [always("AUTHENTICATION_TYPE_PASSKEY")] };
const evaluate = () => true;

/** An organization whose root quorum takes so many of these. */
const organization = (threshold: number, userIds: string[], people: Record<string, Person>, features: string[] = []) =>
  viewOfPeople(people, {
    rootQuorum: { threshold, userIds },
    isBelowParent: true,
    features: features.map((name) => ({ name, value: null })),
  });

const refused = (code: string, text: RegExp) => (error: unknown) =>
  error instanceof KeysteadError && error.code === code && text.test(error.message);

describe("a root quorum", () => {
  it("is of users that the organization has", () => {
    const draft = draftOn(organization(1, ["ada"], { ada: signing }));
    const quorum = { threshold: 1, userIds: ["ada", "nobody"] };
    assert.throws(() => setRootQuorum(draft, quorum, evaluate, 1), refused("RESOURCE_NOT_FOUND", /nobody/));
    assert.throws(() => seatNewUsers(draft, quorum, 1), refused("RESOURCE_NOT_FOUND", /nobody/));
    assert.deepEqual(draft.changes, []);
  });

  it("does not lose its threshold by a member who cannot sign any more, and hears why", () => {
    const of = (ada: Person) => organization(1, ["ada"], { ada });
    assert.throws(
      () => refuseShortQuorum(of({}), "ada", evaluate),
      refused("QUORUM_USERS_MISSING", /give them their own passkey or API key/),
    );
    assert.throws(
      () => refuseShortQuorum(of(lockedOut), "ada", evaluate),
      refused("QUORUM_USERS_MISSING", /an MFA policy of theirs/),
    );
    const ofServer = { apiKeys: [apiKeyOf("key", { grade: "server" })] };
    assert.throws(() => refuseShortQuorum(of(ofServer), "ada", evaluate), refused("QUORUM_USERS_MISSING", /their own/));
    refuseShortQuorum(of({ ...lockedOut, authenticators: [passkeyOf("passkey")] }), "ada", evaluate);
  });

  it("that is short already is in the way of nobody who is not the reason", () => {
    const short = organization(2, ["ada", "bob"], { ada: {}, bob: signing, cat: {} });
    assert.throws(() => refuseShortQuorum(short, "ada", evaluate), refused("QUORUM_USERS_MISSING", /user ada/));
    refuseShortQuorum(short, "bob", evaluate);
    refuseShortQuorum(short, "cat", evaluate);
  });

  it("keeps the codes that its MFA asks for, where it could sign with them", () => {
    const name = otpFeatures.EMAIL;
    const user = { id: "ada", name: "", email: "ada@example.com", phoneNumber: null, createdAt: 0, updatedAt: 0 };
    const byMail: Person = { ...signing, user, mfaPolicies: [always("AUTHENTICATION_TYPE_EMAIL_OTP")] };
    const withoutCodes = (ada: Person) =>
      refuseQuorumWithoutFeature(
        organization(1, ["ada"], { ada }),
        organization(1, ["ada"], { ada }, [name]),
        name,
        evaluate,
      );
    assert.throws(() => withoutCodes(byMail), refused("QUORUM_USERS_MISSING", /FEATURE_NAME_OTP_EMAIL_AUTH/));
    withoutCodes(signing);
    withoutCodes({ ...byMail, apiKeys: [] });
  });
});
