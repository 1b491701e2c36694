/** Finds the secrets in a step's environment, and masks passwords in the log. */
import * as core from '@actions/core';
import { credentialsIn, formsOf, passwordIn } from '../untrusted/foreign-text.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables whose whole value is a secret. */
const SECRET =
  /^(AWS_(SECRET_ACCESS_KEY|SESSION_TOKEN|SECURITY_TOKEN|CONTAINER_AUTHORIZATION_TOKEN|BEARER_TOKEN_\w+)|ACTIONS_(RUNTIME|ID_TOKEN_REQUEST)_TOKEN|(INPUT|GITHUB|GH)_TOKEN)$/i;
/** Variables with a URL that may contain a user name and a password. */
const ADDRESS = /^((https?|all|ftp)_proxy|AWS_ENDPOINT_URL(_\w+)?|INPUT_(ENDPOINT|PUBLIC)-URL)$/i;

/** The secrets of an environment, which must not appear in any text. */
export function secretsIn(env: Environment): string[] {
  return Object.entries(env).flatMap(([name, value = '']) => {
    if (SECRET.test(name)) return [value];
    return ADDRESS.test(name) ? credentialsIn(value) : [];
  });
}

/**
 * Makes GitHub's runner mask the passwords of proxies and endpoints, also in the output of later steps. Nothing else
 * masks them (configure-aws-credentials masks only AWS credentials). On other runners, the command would print them.
 */
export function maskPasswords(env: Environment): void {
  if (env.GITHUB_ACTIONS !== 'true') return;
  for (const [name, value = ''] of Object.entries(env)) {
    const password = ADDRESS.test(name) ? passwordIn(value) : undefined;
    for (const form of formsOf(password ?? '')) core.setSecret(form);
  }
}
