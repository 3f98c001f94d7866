import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { resolveImage } from "./images.ts";
import { checkImage, ImageUrl, PullSecret } from "./model.ts";
import { openPullSecret } from "./pull-secrets.ts";

export const validateTvcImage = query({
  path: "validate_tvc_image",
  summary: "Look up an image in its registry, and return its current digest.",
  needs: ["deployments"],
  asks: ["openPullSecret"],
  request: Type.Object({
    organizationId: Id,
    pivotContainerImageUrl: ImageUrl,
    pivotContainerEncryptedPullSecret: Type.Optional(PullSecret),
  }),
  response: Type.Object({ resolvedImageDigest: Type.Optional(Type.String()) }),
  async run({ request, deployments, ...context }) {
    const { pivotContainerImageUrl: text, pivotContainerEncryptedPullSecret: envelope } = request;
    checkImage(text, "pivotContainerImageUrl");
    const credential = await openPullSecret(context, text, envelope, "pivotContainerEncryptedPullSecret");
    const { organization } = context;
    const digest = await resolveImage(deployments, organization, text, "pivotContainerImageUrl", credential);
    return { resolvedImageDigest: digest };
  },
});
