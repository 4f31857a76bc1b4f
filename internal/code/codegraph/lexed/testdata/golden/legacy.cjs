'use strict';
/*!
 * legacy
 */
var util = require('./util')
  , { join, resolve: res } = require('path');
const Emitter = require('./emitter').Emitter;

exports = module.exports = createApp;
exports.version = '1.0';
exports.noop = function noop() {};
exports.Router = Router;

/** Makes an app. */
function createApp(options) {
  var app = function (req) { app.handle(req, util.once(options)); };
  util.mixin(app);
  return app;
}

function Router(path) { if (!(this instanceof Router)) return new Router(path); this.path = res(path); }
Router.prototype.use = function use(fn) { return join(fn) };
Router.prototype.count = 0;
Router.all = (...fns) => fns;

var proto = module.exports.proto = {};
proto.listen = function listen() { return this.use(createApp); };

;(function (root) {
  function wrapped() { return root }
  exports.wrapped = wrapped;
})(this);
