import { Ken } from '@kenlayer/ken';
import * as processes from './processes.js';

// started is a Ken for a project of its own, which knows the claims.
export async function started(t, claims = []) {
  let ken;
  t.after(() => ken?.close()); // before its folder goes
  ken = new Ken({ project: await processes.project(t, claims) });
  return ken;
}
