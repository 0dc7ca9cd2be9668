// Package optim updates parameters: optimisers, clipping and accumulation of gradients. Learning rates come from
// optim/schedule or from the caller.
//
//	opt := optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.01})
//	rate := schedule.Cosine(1e-3, 0, 1000)
//	params := nn.Trained(model)
//	clip := &optim.Clip{Norm: 1}
//	for _, batch := range batches {
//		grads, err := model.Loss(batch).Backward()
//		if err != nil {
//			return err
//		}
//		if _, err := clip.Apply(params, grads); err != nil {
//			return err
//		}
//		if err := opt.Step(schedule.Next(rate), params, grads.GiveUp()); err != nil {
//			return err
//		}
//	}
//
// A step of all parameters is one program of the contract: it is compiled once for the shapes of the parameters and then
// queued with one message. It waits for nothing, and replaces values with Param.Set. The old values and the old state are
// donated to the program, and so are gradients that were given up: a step holds parameters and state once, on backends
// that compute in donated memory at addresses that do not change.
//
// What an optimiser remembers is kept by the names of parameters, in the type of the parameter, in f32 for those of 16 bits, whose
// arithmetic is in f32 too. State gives it, Restore takes it: a run that goes on from there is equal bit by bit.
package optim
